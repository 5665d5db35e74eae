"""Warm workers on this machine: kept over trials, started again when they die, and never left."""

import multiprocessing
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from pyscale.executors import local
from pyscale.executors.local import LocalExecutor
from pyscale.executors.placement import Placement
from pyscale.executors.protocol import Batch, WarmStart
from pyscale.executors.warmworkers import WarmWorker
from pyscale.processes import wait_until_ended
from pyscale.store.records import WORKER_FILE, TaskOrder
from pyscale.store.taskfiles import read_record, read_task
from pyscale_stages.contract import WorkerRecord
from trials import end_task, ended, one_trial, wait_until_it_says

WORKER = """
import argparse, sys
from dataclasses import replace
from pathlib import Path
from pyscale_stages import registry, serving
import time
def do(arguments, begin, origin):
    exec(arguments[0], {})
    return 0
stage = registry.load_stage("contact")
serving.load_stage = lambda name: replace(stage, preload=lambda task: None)
options = argparse.Namespace(
    stage="contact", params=None, result=Path("worker.json"), seed=0, threads=1, device="cpu"
)
sys.exit(serving.serve(options, time.monotonic(), do))
"""
"""A worker that loads nothing, whose tasks are programs."""
TELLS = "import os; print(os.getppid(), sorted(os.sched_getaffinity(0)), os.environ['TMPDIR'])"
WAITS = "import signal; print('ready', flush=True); signal.pause()"
CORES = sorted(os.sched_getaffinity(0))
GIB = 2**30


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run ü"
    folder.mkdir()
    return folder


@pytest.fixture
def executor(run):
    made = LocalExecutor(run, lambda threads: Placement(CORES, threads, []))
    yield made
    made.end_all()


def trial_of(
    run,
    number,
    program,
    windows=1,
    *,
    entry="track",
    worker=(sys.executable, "-c", WORKER),
    memory_bytes=GIB,
):
    """A trial whose windows are programs for warm workers."""
    folders = [run / "tasks" / f"{entry}-{number}" / f"w{window}" for window in range(windows)]
    for folder in folders:
        folder.mkdir(parents=True)
    return Batch(
        trial=one_trial("track", windows).model_copy(update={"entry": entry, "start": "warm"}),
        name="windows",
        orders={
            folder: TaskOrder(argv=("cold",), arguments=(program,), env={"X": "given"})
            for folder in folders
        },
        at_once=windows,
        submitted=lambda _jobs: None,
        taken_up=lambda: None,
        warm=WarmStart(memory_bytes, lambda _folder: TaskOrder(argv=worker)),
    )


def said(batch):
    return [(folder / "stdout").read_text().strip() for folder in batch.orders]


def records(batch):
    return [read_task(folder) for folder in batch.orders]


def workers_of(batch):
    return [record.order.worker if record.order else None for record in records(batch)]


def returncodes(batch):
    return [ended(folder).returncode for folder in batch.orders]


@pytest.mark.slow
def test_a_worker_is_kept_for_the_next_trial_and_each_slot_has_its_own(executor, run):
    trials = [trial_of(run, number, TELLS, min(2, len(CORES))) for number in range(2)]
    # Tests before this one may have left a process that serves all, like a resource tracker.
    before = psutil.Process().children(recursive=True)
    for batch in trials:
        executor.run(batch)
    first, second = ([line.split(" ", 1)[0] for line in said(batch)] for batch in trials)
    assert first == second
    assert len({*first}) == len(first)
    assert workers_of(trials[0]) == [f"track-s{slot}-1" for slot in range(len(first))]
    scratch = [line.rpartition(" ")[2] for batch in trials for line in said(batch)]
    assert len({*scratch}) == len(scratch)
    assert not any(Path(folder).exists() for folder in scratch)
    # Orders are written when the workers are ready.
    record, *_ = records(trials[0])
    worker = read_record(WorkerRecord, run / "workers" / "track-s0-1" / WORKER_FILE)
    assert (record.order.submit_utc - worker.start_utc).total_seconds() > worker.wall_s
    assert record.launch is not None
    family = set(psutil.Process().children(recursive=True)) - {*before}
    assert family
    assert executor.end_all() > 0
    assert wait_until_ended(family, 0) == []


@pytest.mark.slow
def test_more_windows_than_workers_are_worked_off(executor, run):
    batch = trial_of(run, 0, TELLS, 3)
    batch = Batch(**{**vars(batch), "at_once": 1})
    executor.run(batch)
    assert returncodes(batch) == [0, 0, 0]
    assert {*workers_of(batch)} == {"track-s0-1"}


@pytest.mark.slow
def test_a_task_that_is_killed_costs_no_worker_and_one_that_it_kills_is_started_again(
    executor, run
):
    programs = ("import os; os.abort()", TELLS, "import os; os.kill(os.getppid(), 9)", TELLS)
    trials = [trial_of(run, number, program) for number, program in enumerate(programs)]
    for batch in trials:
        executor.run(batch)
    codes = [code for batch in trials for code in returncodes(batch)]
    assert codes == [-signal.SIGABRT, 0, -signal.SIGKILL, 0]
    workers = [worker for batch in trials for worker in workers_of(batch)]
    assert workers == [*["track-s0-1"] * 3, "track-s0-2"]
    assert "was killed by SIGKILL" in records(trials[2])[0].error.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("worker", "message"),
    [
        ((sys.executable, "-c", "import sys; sys.exit('no such model')"), "no such model"),
        (("/no/such/python",), "/no/such/python cannot be started on "),
    ],
)
def test_a_worker_that_cannot_start_fails_its_task_with_its_own_words(
    executor, run, worker, message
):
    for number in range(2):
        batch = trial_of(run, number, TELLS, worker=worker)
        executor.run(batch)
        (record,) = records(batch)
        assert message in record.error.message
        # The next try has a new one, which may do better.
        assert workers_of(batch) == [f"track-s0-{number + 1}"]


class DoesAllAtOnce(WarmWorker):
    """A worker that is no process."""

    def __init__(self, folder, memory_bytes):
        super().__init__(folder, SimpleNamespace(pid=1), memory_bytes)

    def is_usable(self):
        return True

    def give(self, folder, token):
        end_task(folder, token=token)

    def end(self):
        pass


def test_the_worker_that_was_not_used_for_longest_makes_room(executor, run, monkeypatch):
    monkeypatch.setattr(local, "worker_here", DoesAllAtOnce)
    third = psutil.virtual_memory().total // 5 * 2
    for number, entry in enumerate(["a", "b", "a", "c", "a", "b"]):
        batch = trial_of(run, number, TELLS, entry=entry, memory_bytes=third)
        executor.run(batch)
    started = sorted(folder.name for folder in (run / "workers").iterdir())
    assert started == ["a-s0-1", "b-s0-1", "b-s0-2", "c-s0-1"]


@pytest.mark.slow
def test_none_is_left_when_pyscale_is_killed(executor, run):
    batch = trial_of(run, 0, WAITS)
    (folder,) = batch.orders
    pyscale = multiprocessing.get_context("fork").Process(target=executor.run, args=(batch,))
    pyscale.start()
    wait_until_it_says(folder)
    family = psutil.Process(pyscale.pid).children(recursive=True)
    assert len(family) == 3, "the launcher, the worker and its task"
    pyscale.kill()
    pyscale.join()
    assert wait_until_ended(family) == []
