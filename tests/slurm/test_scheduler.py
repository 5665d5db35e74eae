"""What the queue and the accounts of a real Slurm tell of jobs."""

from datetime import UTC, datetime, timedelta

import pytest

from pyscale.slurm.queue import SlurmSilent, cancel, ends_of, jobs_named


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
                not jobs[job_id].alive and job_id in ends and ends[job_id].node == jobs[job_id].node
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
    assert ends[ran].cancelled_by is not None
    assert ends[waited].node == ""
    assert {job_id: ends[job_id].state for job_id in ids} == {
        job_id: jobs[job_id].state for job_id in ids
    }


@pytest.mark.slow
def test_a_controller_and_accounts_that_are_away_say_so(ours, endless):
    job = ours.submit(endless)
    ours.slurm.stop_slurmdbd()
    assert ends_of([job]) == {}
    ours.slurm.stop_slurmctld()
    with pytest.raises(SlurmSilent, match="^squeue: Unable to contact slurm controller"):
        ours.seen()
    with pytest.raises(SlurmSilent, match="^scancel: .*Unable to contact slurm controller"):
        cancel([job])
    ours.slurm.start_slurmctld()
    assert set(ours.seen()) == {job}
