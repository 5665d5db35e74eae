"""pyscale itself is killed or interrupted, or Slurm is away then: nothing is lost or doubled."""

import os
import shutil
import signal

import pytest

from programs import put_program
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


def test_a_submission_that_is_taken_and_answered_with_an_error_is_made_again(runs, once):
    error = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    once("sbatch", f'$real "$@" > /dev/null; echo "{error}" >&2; exit 1')
    before = runs.slurm.known_jobs()
    runs.copied(runs.start(), jobs=1)
    (first,) = runs.slurm.known_jobs() - before - set(runs.jobs)
    (job,) = runs.slurm.job(first)
    # It was cancelled, or began and found that nobody had recorded it.
    assert job["JobState"] in {"CANCELLED", "COMPLETED"}


TIMES_OUT = """\
case "$*" in *--version*|*--test-only*) exec {real} "$@";; esac
echo x >> {calls}
echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2
exit 1
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_sbatch_that_times_out_again_and_again_is_left_at_once_when_asked(
    runs, tmp_path, monkeypatch, number
):
    calls = tmp_path / "calls"
    lines = TIMES_OUT.format(real=shutil.which("sbatch"), calls=calls)
    program = put_program(tmp_path / "first", "sbatch", lines)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    process = runs.start()
    runs.slurm.wait_for(lambda: calls.exists() and calls.read_text().count("x") > 1, "two calls")
    os.kill(process.pid, number)
    code, said = runs.finished(process)
    assert code == 130
    assert said.count("Socket timed out on send/recv operation") == 1
    assert "interrupted; nothing is lost" in said
    # With pauses between them that grow.
    assert calls.read_text().count("x") <= 3


def test_who_follows_may_be_interrupted_and_killed_and_the_job_goes_on(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        os.kill(process.pid, signal.SIGINT)
        code, said = runs.finished(process)
        assert code == 130
        for words in (runs.jobs[0], "pyscale resume", "pyscale cancel"):
            assert words in said
        assert not is_gone(launch)
        second = runs.resume()
        runs.slurm.wait_for(lambda: runs.is_followed, "it was followed")
        runs.kill(second)
        assert not is_gone(launch)
    runs.wait_for_event("run_finished")
    runs.copied(runs.resume(), jobs=1)
    assert runs.set_aside() == []


def test_a_detached_run_is_followed_by_others_too_and_extended(runs):
    run_id = runs.say(*runs.of_step("--detach")).strip()
    assert runs.run.path.name == run_id
    follower = runs.resume()
    runs.say("status", run_id, "--watch")
    assert runs.status()["state"] == "complete"
    runs.copied(follower, jobs=1)
    # The one that was detached may still write the report.
    runs.slurm.wait_for(lambda: living(runs.run) == [], "nobody followed")
    runs.copied(runs.command("extend", "latest", "--repeats", "2"), jobs=2)
    finished = [event.trial for event in runs.events("trial_finished")]
    assert finished == ["step-n1-b1", "step-n1-b2"]


def test_a_job_that_nobody_follows_is_ended_by_cancel(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        runs.kill(process)
        runs.say("cancel")
        assert runs.living_jobs() == []
        runs.slurm.wait_for(lambda: is_gone(launch), "the task went with its job")
    assert runs.status()["state"] == "cancelled"


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
        # Who follows the run ends too, and submits no other job.
        code, said = runs.finished(process)
        assert code == 2, said
    assert runs.living_jobs() == []
    runs.say("cancel")
    assert runs.status()["state"] == "cancelled"
    runs.copied(runs.resume(), jobs=2)
    assert runs.events("trial_failed") == []


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
