"""A pilot that is asked to end leaves nothing of its job running."""

import signal
from datetime import UTC, datetime

from mockexecutor import MockExecutor
from mockruns import site
from pyscale.measuring import pilot
from pyscale.store.allocations import Allocated, Allocations, write_allocations
from pyscale.store.folder import RunFolder


class AskedTwice(MockExecutor):
    """A cluster that asks the pilot to end in its first task, and again while it cleans up."""

    def __init__(self):
        super().__init__(lambda *_: signal.raise_signal(signal.SIGTERM))
        self.has_ended_all = False

    def end_all(self):
        signal.raise_signal(signal.SIGTERM)
        self.has_ended_all = True
        return 0


def test_a_second_request_to_end_does_not_cut_the_clean_up_short(make, tmp_path, monkeypatch):
    plan = make(only=("register_denoise",), workers=(1,), repeats=1, on_site=site())
    run = RunFolder.create(tmp_path / "runs", plan)
    job = Allocated(
        job_id="17", nodes="1", cores=1, time_limit_min=30, submit_utc=datetime.now(UTC)
    )
    write_allocations(run.path, Allocations(jobs=(job,)))
    executor = AskedTwice()
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setattr(pilot, "StepExecutor", lambda *_: executor)
    pilot.pilot(str(run.path))
    assert executor.has_ended_all
