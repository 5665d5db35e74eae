"""A pilot ends when it is asked to, and leaves nothing of its job running."""

import os
import signal
from datetime import UTC, datetime

import pytest

from mockexecutor import MockExecutor
from mockruns import site
from programs import put_program
from pyscale.measuring import pilot
from pyscale.store.allocations import Allocated, Allocations, write_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal


class AskedTwice(MockExecutor):
    """A cluster that asks the pilot to end in its first task, and again while it cleans up."""

    def __init__(self):
        super().__init__(lambda *_: signal.raise_signal(signal.SIGTERM))
        self.has_ended_all = False

    def end_all(self):
        signal.raise_signal(signal.SIGTERM)
        self.has_ended_all = True
        return 0


@pytest.fixture
def run(make, tmp_path, monkeypatch):
    """A run whose job 17 follows its job 16, in which this process is."""
    plan = make(only=("register_denoise",), workers=(1,), repeats=1, on_site=site())
    run = RunFolder.create(tmp_path / "runs", plan)
    common = {
        "nodes": "1",
        "cores": 1,
        "time_limit_min": 30,
        "submit_utc": datetime.now(UTC),
        "entries": ("register_denoise",),
    }
    jobs = (Allocated(job_id="16", **common), Allocated(job_id="17", after="16", **common))
    write_allocations(run.path, Allocations(jobs=jobs))
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    return run


@pytest.mark.parametrize(
    ("squeue", "sacct"),
    [
        ("echo CANCELLED", "exit 1"),
        ("exit 0", "echo '16|CANCELLED by 0|n1'"),
    ],
    ids=["queue", "accounts"],
)
def test_a_job_that_follows_a_cancelled_one_ends_the_run(run, tmp_path, monkeypatch, squeue, sacct):
    put_program(tmp_path / "bin", "squeue", squeue)
    put_program(tmp_path / "bin", "sacct", sacct)
    monkeypatch.setattr(pilot, "StepExecutor", None)
    pilot.pilot(run)
    (event,) = Journal(run.journal_file).read()
    assert event.kind == "run_stopped"
    assert event.detail == (f"job 16 was cancelled: go on with `pyscale resume {run.path.name}`")
    # And so does the next, which knows no more than that.
    pilot.pilot(run)
    assert len(Journal(run.journal_file).read()) == 1


def test_a_second_request_to_end_does_not_cut_the_clean_up_short(run, tmp_path, monkeypatch):
    put_program(tmp_path / "bin", "squeue", "echo COMPLETED")
    executor = AskedTwice()
    monkeypatch.setattr(pilot, "StepExecutor", lambda *_: executor)
    pilot.pilot(run)
    assert executor.has_ended_all
