"""What the queue and the accounts of a real Slurm tell of jobs."""

from datetime import UTC, datetime, timedelta

import pytest

from pyscale.slurm.accounts import ask_accounts, ends_of
from pyscale.slurm.endings import cause_of, ended_by_slurm
from pyscale.slurm.queue import SlurmSilent, cancel, jobs_named
from slurm import cgroups

MIB = 1 << 20
OVER_ITS_MEMORY = "exec python3 -c 'held = bytes(1) * (400 << 20); import time; time.sleep(600)'"


class OurJobs:
    """Jobs of a name that no other test uses: Slurm remembers those for minutes."""

    def __init__(self, slurm, name):
        self.slurm = slurm
        self.name = name

    def submit(self, *arguments):
        usual = (f"--job-name={self.name}", "--output=/dev/null", "--no-requeue")
        return self.slurm.submit(*usual, *arguments)

    def seen(self):
        return jobs_named(self.name)

    def when(self, states):
        """What the queue tells as soon as jobs are in states."""
        self.slurm.wait_for(
            lambda: states.items() <= {i: job.state for i, job in self.seen().items()}.items(),
            f"the jobs were {states}",
        )
        return self.seen()

    def told(self, *job_ids):
        """Wait for the ends of jobs; return what the queue and what the accounts tell of them."""

        def known():
            jobs, ends = self.seen(), ends_of(job_ids)
            return all(
                not jobs[job_id].alive
                and job_id in ends
                and ends[job_id].node == jobs[job_id].node
                and ends[job_id].memory_bytes is not None
                for job_id in job_ids
            )

        self.slurm.wait_for(known, f"the accounts knew of {job_ids}")
        return self.seen(), ends_of(job_ids)


@pytest.fixture
def ours(slurm, tmp_path):
    return OurJobs(slurm, f"pyscale-a run: of 'mine'|{tmp_path.name}")


def test_where_a_job_runs_what_it_waits_for_and_since_when(ours, endless, monkeypatch):
    before = datetime.now(UTC) - timedelta(seconds=1)
    running = ours.submit("--nodes=2", "--exclusive", endless)
    ours.when({running: "RUNNING"})
    waiting = ours.submit("--nodelist=n2", endless)
    held = ours.submit("--hold", endless)
    ours.slurm.submit("--job-name=another", "--hold", "--output=/dev/null", endless)
    ours.slurm.wait_for(
        lambda: ours.seen()[waiting].reason not in {"", "None"}, "a reason was there"
    )
    jobs = ours.seen()
    assert set(jobs) == {running, waiting, held}
    job = jobs[running]
    assert (job.node, job.alive) == ("n[1-2]", True)
    assert job.start is not None
    assert before <= job.start <= datetime.now(UTC)
    assert (jobs[waiting].state, jobs[waiting].node) == ("PENDING", "")
    assert jobs[waiting].alive
    assert (jobs[held].reason, jobs[held].start) == ("JobHeldUser", None)
    for name, value in {
        "SQUEUE_FORMAT": "%A",
        "SQUEUE_STATES": "RUNNING",
        "SQUEUE_PARTITION": "gpu",
        "SLURM_TIME_FORMAT": "relative",
    }.items():
        monkeypatch.setenv(name, value)
    assert ours.seen().keys() == jobs.keys()
    assert ours.seen()[running] == job


def test_memory_that_ran_out_is_told_with_how_much_there_was(ours, tmp_path, missing):
    if not cgroups.can_limit_memory():
        missing("memory limits by cgroups", cgroups.HOW_TO_GET_THEM)
    script = tmp_path / "memory.sh"
    script.write_text(f"#!/bin/sh\n{OVER_ITS_MEMORY}\n")
    job = ours.submit("--mem=100M", script)
    jobs, ends = ours.told(job)
    for cause in (cause_of(job, jobs[job], None), cause_of(job, None, ends[job])):
        assert cause.kind == "OutOfMemory"
    assert ends[job].memory_bytes == 100 * MIB


def test_how_jobs_ended_by_the_queue_and_by_the_accounts(ours, endless):
    done = ours.submit("--wrap=true")
    failed = ours.submit("--wrap=exit 3")
    killed = ours.submit("--wrap=kill -SEGV $$")
    not_started = ours.submit("--output=/no/such/folder/log", "--wrap=true")
    ran, waited = ours.submit(endless), ours.submit("--hold", endless)
    other = ours.submit("--hold", endless)
    ours.when({ran: "RUNNING"})
    cancel([ran, waited])
    # What has ended, or is not known any more, is no error.
    cancel([waited, "999999"])
    ids = (done, failed, killed, not_started, ran, waited)
    jobs, ends = ours.told(*ids)
    assert [jobs[job_id].state for job_id in ids] == [
        *("COMPLETED", "FAILED", "FAILED", "FAILED", "CANCELLED", "CANCELLED")
    ]
    assert jobs[other].alive
    for job_id in (ran, waited):
        assert cause_of(job_id, jobs[job_id], None).kind == "Cancelled"
        assert cause_of(job_id, None, ends[job_id]).kind == "Cancelled"
    assert ends[ran].cancelled_by is not None
    assert [ends[waited].node, ends[waited].elapsed_s] == ["", 0]
    assert [ends[job_id].exit_code for job_id in (done, failed)] == [0, 3]
    for job_id, words in {
        failed: "failed with exit code 3",
        killed: "was killed by SIGSEGV",
        not_started: "could not be started",
    }.items():
        assert words in cause_of(job_id, None, ends[job_id]).message
        assert ended_by_slurm(job_id, ends[job_id]) is None


@pytest.mark.slow
def test_a_controller_and_accounts_that_are_away_say_so(ours, endless):
    job = ours.submit(endless)
    ours.slurm.stop_slurmdbd()
    assert ends_of([job]) == {}
    with pytest.raises(SlurmSilent, match="^sacct: .*Problem talking to the database"):
        ask_accounts([job])
    ours.slurm.stop_slurmctld()
    with pytest.raises(SlurmSilent, match="^squeue: Unable to contact slurm controller"):
        ours.seen()
    with pytest.raises(SlurmSilent, match="^scancel: .*Unable to contact slurm controller"):
        cancel([job])
    ours.slurm.start_slurmctld()
    assert set(ours.seen()) == {job}
