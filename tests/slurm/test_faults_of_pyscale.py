"""pyscale itself is killed or interrupted, or Slurm is away then: nothing is lost or doubled."""

import os
import signal

import pytest

from slurm.test_faults import is_gone
from waitingforruns import living

pytestmark = pytest.mark.slow

KILL_PYSCALE = "kill -9 $PPID"


def test_killed_while_it_submits_before_and_when_slurm_has_the_job(runs, once):
    once("sbatch", KILL_PYSCALE)
    process = runs.start()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    before = runs.slurm.known_jobs()
    # The job waits, and nobody has recorded it.
    once("sbatch", f'$real --hold "$@"; {KILL_PYSCALE}')
    process = runs.resume()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    (stray,) = runs.slurm.known_jobs() - before
    runs.copied(runs.resume(), jobs=1)
    assert runs.set_aside() == []
    (job,) = runs.slurm.job(stray)
    assert job["JobState"] == "CANCELLED"


def test_answers_of_a_controller_that_is_away_when_a_job_is_submitted(runs, once):
    said = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    # The job was taken all the same; the next is not.
    next_time = f'echo "{said}" >&2; exit 1'
    once("sbatch", f'$real "$@" > /dev/null; {next_time}')
    before = runs.slurm.known_jobs()
    process = runs.start()
    runs.copied(process, jobs=1)
    (first,) = runs.slurm.known_jobs() - before - set(runs.jobs)
    assert {job["JobState"] for job in runs.slurm.job(first)} <= {"CANCELLED", "COMPLETED"}


def test_who_follows_may_be_interrupted_and_killed_and_the_job_goes_on(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        os.kill(process.pid, signal.SIGINT)
        code, said = runs.finished(process)
        assert code == 130
        for words in (runs.jobs[0], "pyscale run --resume", "pyscale cancel"):
            assert words in said
        assert not is_gone(launch)
        second = runs.resume()
        runs.slurm.wait_for(lambda: runs.is_followed, "it was followed")
        runs.kill(second)
        assert not is_gone(launch)
    runs.wait_for_event("run_finished")
    runs.copied(runs.resume(), jobs=1)
    assert runs.set_aside() == []


def test_a_detached_run_is_followed_by_many_and_extended(runs):
    run_id = runs.say(*runs.of_step("--detach")).strip()
    assert runs.run.path.name == run_id
    followers = [runs.command("run", "--resume", run_id) for _ in range(2)]
    runs.say("status", run_id, "--watch")
    assert runs.status()["state"] == "complete"
    for follower in followers:
        runs.copied(follower, jobs=1)
    # The one that was detached may still write the report.
    runs.slurm.wait_for(lambda: living(runs.run) == [], "nobody followed")
    runs.copied(runs.command("run", "--extend", "latest", "--repeats", "2"), jobs=2)
    finished = [event.trial for event in runs.events("trial_finished")]
    assert finished == ["step-n1-b1", "step-n1-b2"]


def test_a_cancelled_run_leaves_no_job_whether_somebody_follows_or_not(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.say("cancel")
        code, said = runs.finished(process)
    assert code == 2, said
    assert runs.living_jobs() == []
    assert runs.status()["state"] == "cancelled"
    again = runs.resume()
    with runs.in_its_middle(again, "w0"):
        runs.kill(again)
        runs.say("cancel")
    assert runs.living_jobs() == []
    runs.copied(runs.resume(), jobs=3)
    assert runs.events("trial_failed") == []


def test_a_cancel_that_slurm_does_not_hear_or_that_is_killed_is_given_again(runs, once):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.slurm.stop_slurmctld()
        code, said = runs.finished(runs.command("cancel"))
        assert code == 2
        assert "may still run" in said
        assert f"pyscale cancel {runs.run.path.name}" in said
        runs.slurm.start_slurmctld()
        once("scancel", f'$real "$@"; {KILL_PYSCALE}')
        killed = runs.command("cancel")
        killed.communicate()
        assert killed.returncode == -signal.SIGKILL
        runs.finished(process)
    runs.say("cancel")
    assert runs.status()["state"] == "cancelled"
    runs.copied(runs.resume(), jobs=2)


def test_accounts_tell_what_the_queue_has_forgotten(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"), runs.slurm.forgetting_ended_jobs():
        (job,) = runs.jobs
        runs.kill(process)
        runs.slurm.run("scancel", job)
        runs.slurm.wait_for(lambda: runs.slurm.is_forgotten(job), "the job was forgotten")
        runs.copied(runs.resume(), jobs=2)
    (ended,) = runs.events("allocation_ended")
    assert "was cancelled" in ended.detail
