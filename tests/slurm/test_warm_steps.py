"""Warm workers in a held job: kept over trials, the same bytes, and replaced when they die."""

import polars as pl
import psutil
import pytest

from pyscale.processes import WORKERS_FOLDER
from pyscale.store.allocations import read_allocations
from pyscale.store.records import LAUNCH_FILE, WORKER_FILE
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import read_task

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("holding")]
# A worker's fork is to be held in its task as `runs.in_its_middle` holds a new process.
STOP_FORKS = """
import os, signal, sys
def stop():
    if "pyscale_stages" in sys.orig_argv and os.path.exists({file!r}):
        os.kill(os.getpid(), signal.SIGSTOP)
os.register_at_fork(after_in_child=stop)
"""


@pytest.fixture
def held_fork(runs):
    """A file: as long as it is there, a worker's fork stops where it begins."""
    file = runs.home / "stop_forks"
    file.touch()
    customize = runs.python_path / "sitecustomize.py"
    customize.write_text(customize.read_text() + STOP_FORKS.format(file=str(file)))
    yield file
    for process in forks_of(runs):
        process.kill()


def forks_of(runs):
    """Processes that stand still in the first window of a warm worker."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if process.info["status"] == psutil.STATUS_STOPPED
        and any(str(runs.home) in word for word in process.info["cmdline"] or ())
    ]


def test_workers_are_kept_over_trials_and_compute_what_new_processes_do(runs):
    asked = ("--start", "cold,warm", "--workers", "1,2", "--repeats", "1")
    before = runs.slurm.known_jobs()
    runs.completed(runs.start(*asked))
    run = runs.run
    assert runs.slurm.known_jobs() - before == {*read_allocations(run.path).job_ids}
    assert len(read_allocations(run.path).jobs) == 1
    assert runs.events("trial_failed") == []
    for trial in run.plan.trials:
        if trial.start == "warm":
            cold = run.plan.trial(trial.id.replace("_warm", "_cold"))
            assert bytes_of(run.output(trial)) == bytes_of(run.output(cold))
        for slot, task in enumerate(trial.window_tasks):
            order = read_task(run.task(trial, task)).order
            named = (order.worker or "").rpartition("-")[0]
            assert named == (f"{trial.entry}-s{slot}" if trial.start == "warm" else "")
    workers = sorted((run.path / WORKERS_FOLDER).iterdir())
    assert workers
    assert all((worker / WORKER_FILE).exists() for worker in workers)
    windows = build_tables(run).tasks.filter(pl.col("verb") == "run")
    assert set(windows["node"]) <= set(runs.slurm.nodes)
    assert (windows["queue_s"] > 0).all()


def bytes_of(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_the_same_workers_do_all_windows_of_trials_in_turn(runs):
    asked = ("--start", "warm", "--repeats", "2", "--chunks-per-worker", "2")
    runs.completed(runs.start(*asked))
    made = {worker.name for worker in (runs.run.path / WORKERS_FOLDER).iterdir()}
    assert made == {"contact-s0-1", "contact-s1-1"}


@pytest.mark.parametrize("killed", ["step", "launcher"])
def test_a_worker_that_dies_in_a_window_costs_one_attempt(runs, held_fork, killed):
    process = runs.start("--start", "warm")
    runs.slurm.wait_for(lambda: len(forks_of(runs)) == 2, "two windows had begun")
    held_fork.unlink()
    home = runs.run.path / WORKERS_FOLDER / "contact-s0-1"
    assert (home / LAUNCH_FILE).exists()
    if killed == "step":
        runs.slurm.cancel_steps()
    else:
        for fork in forks_of(runs):
            # Its parent is the worker, and that of the worker the resident launcher.
            fork.parents()[1].kill()
    runs.completed(process)
    (failed,) = runs.events("trial_failed")
    assert ("was cancelled" if killed == "step" else "a step of job") in failed.detail
    assert runs.set_aside() == ["contact-n2-b1.failed-1"]
    orders = [read_task(runs.trial / task).order for task in ("w0", "w1")]
    assert [order.worker for order in orders if order] == ["contact-s0-2", "contact-s1-2"]


def test_workers_end_with_their_job_and_the_next_job_has_new_ones(runs, held_fork):
    process = runs.start("--start", "warm")
    runs.slurm.wait_for(lambda: len(forks_of(runs)) == 2, "two windows had begun")
    held_fork.unlink()
    runs.slurm.run("scancel", *read_allocations(runs.run.path).job_ids)
    runs.completed(process)
    assert len(read_allocations(runs.run.path).jobs) == 2
    assert runs.events("trial_failed") == []
    assert runs.living_jobs() == []
