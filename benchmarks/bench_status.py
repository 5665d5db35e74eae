"""Claim: where a run of 10,000 tasks stands is known in under 1 s and 500 MB.

In one trial, and spread over a hundred, of which the last is under way. It is read as
`pyscale status` does, from the names of files and the few records that tell more, and naively,
from all records of all tasks.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from mockexecutor import MockEnd, MockExecutor
from paired import compare, seconds
from pyscale.executors.protocol import Batch
from pyscale.planning.plan import Trial
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.suite import load_suite
from pyscale.progress.status import run_status
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder, new_run_id
from pyscale.store.journal import Journal
from pyscale.store.lock import run_lock
from pyscale.store.records import LAUNCH_FILE, ORDER_FILE, SPEC_FILE, LaunchRecord, TaskOrder
from pyscale.store.taskfiles import read_task, write_order
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import TaskSpec

TASKS = 10_000
WORKERS = 10
FAILED = 10
REPEATS = 5
BAR_S = 1.0
BAR_MIB = 500
AT_ONCE = 16
"""Files that are written at once while a run is made: the disk is waited for at each."""
WAITING = """
import sys
from pathlib import Path
from pyscale.executors.waiting import wait_for_any
class Alive:
    def is_alive(self, folder): return True
print(len(wait_for_any({folder: Alive() for folder in Path(sys.argv[1]).glob("*/w[0-9]*")})))
"""


def main() -> int:
    """Print times and memory; fail where the claim does not hold."""
    broken = []
    with tempfile.TemporaryDirectory() as scratch:
        for n_trials in (1, 100):
            print(f"{TASKS} tasks in {n_trials} trial(s)")
            broken += measured(make_run(Path(scratch), n_trials, TASKS // n_trials))
    print("\n".join(broken) or "the claim holds")
    return 1 if broken else 0


def measured(run: RunFolder) -> list[str]:
    """Print times and memory of one run; return what is claimed of it and does not hold."""
    with run_lock(run.path):
        quick, _ = compare(
            ("status", "all records of all tasks"),
            (lambda: run_status(run), lambda: read_all(run)),
            repeats=REPEATS,
        )
        every_s = statistics.median(
            seconds(lambda: run_status(run, all_tasks=True)) for _ in range(REPEATS)
        )
        whole = [resources(["-m", "pyscale", "status", str(run.path)]) for _ in range(3)]
        look_s, look_mib = resources(["-c", WAITING, str(run.path / "tasks")])
    whole_s = statistics.median(wall_s for wall_s, _ in whole)
    whole_mib = max(mib for _, mib in whole)
    for what, wall_s, memory in (
        ("status of each task, as --json has it", every_s, ""),
        ("pyscale status, the whole command", whole_s, f"{whole_mib} MiB"),
        ("a look at all by the waiting loop", look_s, f"{look_mib} MiB"),
    ):
        print(f"{what:<44} {wall_s:8.4f} s   {memory}")
    broken = []
    if statistics.median(quick) > BAR_S:
        broken.append(f"status took more than {BAR_S:.0f} s")
    if max(whole_mib, look_mib) > BAR_MIB:
        broken.append(f"more than {BAR_MIB} MiB were used")
    return broken


def read_all(run: RunFolder) -> list[str]:
    """State of each task from all of its records."""
    return [read_task(run.task(t, task)).state for t in run.plan.trials for task in t.tasks]


def resources(arguments: Sequence[str]) -> tuple[float, int]:
    """Wall seconds and peak memory in MiB of this interpreter with these arguments."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    used = 0

    def wait() -> None:
        nonlocal used
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        used = usage.ru_maxrss // 1024

    wall_s = seconds(wait)
    assert process.returncode == 0
    return wall_s, used


def make_run(root: Path, n_trials: int, n_tasks: int) -> RunFolder:
    """Make a run whose last trial is half done, and whose other trials are complete."""
    movie = root / "movie.tif"
    movie.write_bytes(b"frames")
    settings = load_settings(
        repeats=n_trials, chunks_per_worker=n_tasks // WORKERS, runs_folder=root / "runs"
    )
    plan = make_plan(
        load_suite("labels"),
        Dataset(movie, frames=n_tasks),
        run_id=new_run_id(),
        settings=settings.model_dump(mode="json"),
        workers=(WORKERS,),
        only=("contact",),
    )
    run = RunFolder.create(root / "runs", plan)
    journal = Journal(run.journal_file)
    journal.append("run_started")
    for trial in plan.trials:
        last = trial == plan.trials[-1]
        tasks = trial.window_tasks
        journal.append("trial_started", trial.id)
        jobs = {task: f"17_{number}" for number, task in enumerate(tasks)}
        end(run, trial, tasks[: n_tasks // 2] if last else trial.tasks)
        if last:
            order(run, trial, tasks[n_tasks // 2 :])
        journal.append("submitted", trial.id, tuple(jobs.values()), detail=", ".join(jobs))
        if not last:
            journal.append("trial_finished", trial.id)
    return run


def end(run: RunFolder, trial: Trial, tasks: Sequence[str]) -> None:
    """Write what tasks leave that have ended; some of the last trial have failed."""
    failed = set(tasks[:FAILED]) if trial == run.plan.trials[-1] else set()
    executor = MockExecutor(
        lambda _trial, task, _spec: MockEnd(returncode=1 if task in failed else 0)
    )

    def one(task: str) -> None:
        folder = run.task(trial, task)
        spec = TaskSpec(stage=trial.stage, inputs=(), params={}, seed=0, output=folder / "out")
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / SPEC_FILE, spec.model_dump_json(indent=1) + "\n")
        executor.run(
            Batch(
                trial=trial,
                name="windows",
                orders={folder: draft()},
                at_once=1,
                submitted=lambda _jobs: None,
            )
        )

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, tasks))


def order(run: RunFolder, trial: Trial, tasks: Sequence[str]) -> None:
    """Order tasks; as many as there are workers run."""

    def one(task: str) -> None:
        folder = run.task(trial, task)
        folder.mkdir()
        write_order(folder, draft())
        if task in tasks[:WORKERS]:
            token = TaskOrder.model_validate_json((folder / ORDER_FILE).read_bytes()).token
            now = datetime.now(UTC)
            launch = LaunchRecord(
                token=token, pid=1, node="n1", begin_utc=now, spawn_utc=now, cpus=()
            )
            write_atomically(folder / LAUNCH_FILE, launch.model_dump_json() + "\n")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, tasks))


def draft() -> TaskOrder:
    """An order as large as a real one."""
    return TaskOrder(argv=(sys.executable, "-m", "pyscale_stages", "contact", "run") * 3)


if __name__ == "__main__":
    sys.exit(main())
