"""One task through pyscale against bare submitit running the same command.

The bar is 0.3 s more for each task. The command does nothing, so all that is measured is the
way to it and back: order, process chain, record, and seeing that it has ended.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import submitit

from paired import compare
from pyscale.executors.local import LocalExecutor
from pyscale.executors.waiting import wait_for
from pyscale.store.records import EXIT_FILE, ORDER_FILE, TaskOrder
from pyscale_stages.atomic import write_atomically

REPEATS = 11
COMMAND = [sys.executable, "-c", "pass"]


def main() -> None:
    """Time both ways."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        executor = LocalExecutor(root / "submitit")
        numbers = count()

        def through_pyscale() -> None:
            folder = root / f"task{next(numbers)}"
            folder.mkdir()
            order = TaskOrder(token="once", submit_utc=datetime.now(UTC), argv=tuple(COMMAND))
            write_atomically(folder / ORDER_FILE, order.model_dump_json())
            (job,) = executor.submit([folder])
            wait_for({folder: job})
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
