"""Claim: a task of a large Slurm array costs less than 0.5 s more through pyscale than bare.

A thousand short tasks, eight at once, on a cluster of two nodes on this machine with eight
pretended cores: through pyscale's Slurm executor, and by one `sbatch --array` of the same command.
Each of pyscale's tasks is then counted: none lost, none run twice. The difference is given for each
task, and for each of the eight that run at once, which share this machine's real cores.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import sys
import tempfile
from collections import Counter
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from paired import compare
from pyscale.executors.protocol import Batch
from pyscale.executors.slurm import SlurmExecutor
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.sites import Request, Site
from pyscale.planning.suite import load_suite
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder, new_run_id
from pyscale.store.journal import Journal
from pyscale.store.records import EXIT_FILE, ExitRecord, TaskOrder
from slurm.cluster import SlurmCluster, running_cluster

AT_ONCE = 8
BAR_S = 0.5


def main() -> None:
    """Time both ways."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, running_cluster() as cluster:
        os.environ |= cluster.environment
        root = Path(scratch)
        # What every task does: it leaves a line, so that each can be counted.
        ledger = root / "ledger"
        command = f"echo $SLURM_ARRAY_TASK_ID >> {ledger}"
        numbers = count()

        def through_pyscale() -> None:
            ledger.unlink(missing_ok=True)
            _run_by_pyscale(root / f"runs{next(numbers)}", command, given.tasks)
            _assert_each_once(ledger, given.tasks)

        def bare() -> None:
            ledger.unlink(missing_ok=True)
            _run_bare(cluster, command, given.tasks)
            _assert_each_once(ledger, given.tasks)

        ours, theirs = compare(
            (f"{given.tasks} tasks through pyscale", "a bare sbatch array of the same command"),
            (through_pyscale, bare),
            repeats=given.repeats,
            warm_up=0,
        )
    more_s = (min(ours) - min(theirs)) / given.tasks
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"more for each task: {more_s:.3f} s, or {more_s * AT_ONCE:.3f} s for each of {AT_ONCE} at "
        f"once (bar {BAR_S} s); peak memory of the orchestrator {peak_mib:.0f} MiB"
    )


def _run_by_pyscale(folder: Path, command: str, tasks: int) -> None:
    """Run a trial of many windows whose tasks are the command, and read every record."""
    movie = folder.with_suffix(".tif")
    movie.touch()
    site = Site(
        name="here",
        summary="this machine",
        request=Request(partition="cpu", time_min=5),
        memory_option="none",
    )
    plan = make_plan(
        load_suite("labels"),
        Dataset(movie, frames=tasks),
        run_id=new_run_id(),
        settings=load_settings(
            executor="slurm", chunks_per_worker=math.ceil(tasks / AT_ONCE), repeats=1
        ).model_dump(mode="json"),
        workers=(AT_ONCE,),
        only=("contact",),
        site=site,
    )
    run = RunFolder.create(folder, plan)
    (trial,) = plan.trials
    folders = [run.task(trial, task) for task in trial.window_tasks]
    for each in folders:
        each.mkdir(parents=True)
    submitted: dict[str, str] = {}
    executor = SlurmExecutor(run, site, Journal(run.journal_file))
    executor.run(
        Batch(
            trial=trial,
            name="windows",
            orders={each: TaskOrder(argv=("sh", "-c", command)) for each in folders},
            at_once=AT_ONCE,
            submitted=submitted.update,
            taken_up=lambda: None,
        )
    )
    ends = [ExitRecord.model_validate_json((each / EXIT_FILE).read_bytes()) for each in folders]
    assert [end.returncode for end in ends] == [0] * tasks
    assert len(set(submitted.values())) == tasks


def _run_bare(cluster: SlurmCluster, command: str, tasks: int) -> None:
    cluster.run(
        *("sbatch", "--wait", "--partition=cpu", "--cpus-per-task=1", "--output=/dev/null"),
        *(f"--array=0-{tasks - 1}%{AT_ONCE}", f"--wrap={command}"),
        deadline_s=3600,
    )


def _assert_each_once(ledger: Path, tasks: int) -> None:
    seen = Counter(map(int, ledger.read_text().split()))
    assert seen == Counter(range(tasks)), "tasks were lost or run twice"


if __name__ == "__main__":
    main()
