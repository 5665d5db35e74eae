"""One task through pyscale against bare submitit running the same command.

The bar is 0.3 s more for each task. The command does nothing, so all that is measured is the
way to it and back: order, process chain, record, and seeing that it has ended.
"""

from __future__ import annotations

import os
import sys
import tempfile
from itertools import count
from pathlib import Path

import submitit

from paired import compare
from pyscale.executors.local import LocalExecutor
from pyscale.executors.protocol import Batch
from pyscale.planning.placement import Placement
from pyscale.planning.plan import Trial
from pyscale.store.records import EXIT_FILE, TaskOrder

REPEATS = 11
COMMAND = [sys.executable, "-c", "pass"]
TRIAL = Trial(
    id="track-n1-b1",
    entry="track",
    stage="track",
    workers=1,
    block=1,
    device="cpu",
    windows=((0, 1),),
    inputs=(),
    params={},
    truth=None,
    reference_trial="track-n1-b1",
)


def main() -> None:
    """Time both ways."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        cores = sorted(os.sched_getaffinity(0))
        executor = LocalExecutor(root, lambda n: Placement(cores, n, ()))
        numbers = count()

        def through_pyscale() -> None:
            folder = root / f"task{next(numbers)}"
            folder.mkdir()
            batch = Batch(
                trial=TRIAL,
                name="windows",
                orders={folder: TaskOrder(argv=tuple(COMMAND))},
                at_once=1,
                submitted=lambda _jobs: None,
                taken_up=lambda: None,
            )
            executor.run(batch)
            assert (folder / EXIT_FILE).exists()

        def bare_submitit() -> None:
            bare = submitit.LocalExecutor(root / "bare")
            bare.update_parameters(timeout_min=5)
            bare.submit(submitit.helpers.CommandFunction(COMMAND, verbose=False)).result()

        compare(
            ("a task through pyscale", "the same command through bare submitit"),
            (through_pyscale, bare_submitit),
            repeats=REPEATS,
        )


if __name__ == "__main__":
    main()
