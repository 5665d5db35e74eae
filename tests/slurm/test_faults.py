"""Each fault of a cluster: the others go on, and the run becomes whole or says why it cannot."""

import json
import os
import signal

import pytest

from pyscale.slurm.queue import job_name
from pyscale.store.taskfiles import read_task

pytestmark = pytest.mark.slow


def assert_failed_for(runs, process, *words):
    """The run ends without its trial, tried once, and says why in these words."""
    code, said = runs.finished(process)
    assert code == 1, said
    (failure,) = runs.events("trial_failed")
    told = runs.say("status")
    for word in words:
        assert word in failure.detail
        assert word in " ".join(told.split())
    assert runs.events("trial_retried") == []
    assert runs.living_jobs() == []


def assert_resume_completes(runs):
    runs.completed(runs.resume())


# Python runs it at its start: a task holds more memory than it asked for, until it is killed.
HOARD = """\
import signal, sys
if "pyscale_stages" in sys.orig_argv:
    hoard = bytearray(900 << 20)
    signal.pause()
"""


@pytest.mark.parametrize("allocation", ["each", "hold"])
def test_more_memory_than_asked_for_is_named_and_not_tried_again(
    runs_with_accounting, monkeypatch, allocation
):
    runs = runs_with_accounting
    monkeypatch.setenv("PYSCALE_ALLOCATION", allocation)
    customize = runs.python_path / "sitecustomize.py"
    before = customize.read_text()
    customize.write_text(HOARD)
    process = runs.start(site=runs.site(memory_gib=0.5))
    assert_failed_for(runs, process, "out of memory", "memory_gib")
    customize.write_text(before)
    assert_resume_completes(runs)


def test_a_time_limit_is_named_and_not_tried_again(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.slurm.end_time_of(runs.job_of("w0"))
        assert_failed_for(runs, process, "time limit", "time_min")
    assert_resume_completes(runs)


def test_a_job_that_gives_way_to_an_urgent_one_is_tried_again(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        runs.slurm.preempt(launch.node)
        runs.wait_for_failure()
    runs.completed(process)
    assert "was preempted" in runs.events("trial_failed")[0].detail
    assert len(runs.events("trial_retried")) == 1
    assert runs.set_aside() == ["contact-n2-b1.failed-1"]


def test_a_job_that_is_requeued_all_the_same_is_not_run_twice(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        runs.slurm.requeue(runs.job_of("w0"))
        runs.wait_for_failure()
    runs.completed(process)
    failure = runs.events("trial_failed")[0].detail
    assert "requeued" in failure
    assert launch.node in failure


def test_a_failing_task_leaves_the_run_resumable(runs):
    process = runs.start()
    hidden = runs.movie.with_suffix(".hidden")
    with runs.in_its_middle(process, "w0", "w1"):
        runs.movie.rename(hidden)
    assert_failed_for(runs, process, runs.movie.name)
    hidden.rename(runs.movie)
    assert_resume_completes(runs)


def test_accounts_that_fail_change_nothing(runs_with_accounting, broken_sacct):
    runs = runs_with_accounting
    process = runs.start("--retries", "0")
    with runs.in_its_middle(process, "w0"):
        runs.slurm.run("scancel", runs.job_of("w0"))
    assert_failed_for(runs, process, "was cancelled")
    assert_resume_completes(runs)


def test_accounts_tell_what_the_queue_has_forgotten(runs_with_accounting):
    runs = runs_with_accounting
    process = runs.start()
    with runs.in_its_middle(process, "w0", "w1"), runs.slurm.forgetting_ended_jobs():
        array = runs.job_of("w0").partition("_")[0]
        runs.kill(process)
        runs.slurm.run("scancel", array)
        runs.slurm.wait_for(lambda: runs.slurm.is_forgotten(array), "the job was forgotten")
        assert_resume_completes(runs)
    assert "was cancelled" in runs.events("trial_failed")[0].detail


def test_a_job_whose_submission_was_not_recorded_is_ended_by_a_resume(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.kill(process)
        stray = runs.slurm.submit(
            f"--job-name={job_name(runs.run.plan.run_id)}", "--output=/dev/null", "--wrap=sleep 600"
        )
    assert_resume_completes(runs)
    (state,) = runs.slurm.job(stray)
    assert state["JobState"] == "CANCELLED"


def test_a_disk_that_fills_up_is_named_and_the_run_can_be_finished(runs, mount_in_memory):
    small_disk = mount_in_memory(runs.home / "runs", "size=2m")
    process = runs.start()
    with runs.in_its_middle(process, "w0", "w1"):
        room = os.statvfs(small_disk)
        filler = small_disk / "filler"
        filler.write_bytes(b"x" * (room.f_bavail * room.f_frsize))
    code, said = runs.finished(process)
    assert code in {1, 3}, said
    assert "is full" in said or "is full" in runs.say("status")
    filler.unlink()
    assert runs.living_jobs() == []
    assert_resume_completes(runs)
    assert json.loads(runs.say("status", "--json"))["state"] == "complete"


def assert_retried_once(runs, process, *words):
    """The run becomes whole by a second attempt, and the journal says why in these words."""
    runs.completed(process)
    assert runs.set_aside() == ["contact-n2-b1.failed-1"]
    assert len(runs.events("trial_retried")) == 1
    (failure,) = runs.events("trial_failed")
    for word in words:
        assert word in failure.detail
        assert word in runs.say("status", "--log")
    assert runs.living_jobs() == []


def assert_the_other_finished(runs):
    """The worker that the fault left alone finished its work in the attempt that failed."""
    aside = runs.run.path / "tasks" / "contact-n2-b1.failed-1"
    assert read_task(aside / "w1").state == "done"


STRIKES = {
    "a killed task": (lambda _, launch: os.kill(launch.pid, signal.SIGKILL), "SIGKILL"),
    "an element that is cancelled by hand": (
        lambda runs, _: runs.slurm.run("scancel", runs.job_of("w0")),
        "cancelled",
    ),
}


@pytest.mark.parametrize("strike", STRIKES)
def test_what_ends_one_task_alone(runs, strike):
    strikes, said = STRIKES[strike]
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        strikes(runs, launch)
    assert_retried_once(runs, process, said)
    assert_the_other_finished(runs)


def test_one_element_that_is_cancelled_while_it_waits(runs):
    process = runs.start("--chunks-per-worker", "3")
    with runs.in_its_middle(process, "w0", "w1"):
        runs.slurm.run("scancel", runs.job_of("w5"))
    assert_retried_once(runs, process, "cancelled while it waits")


def test_a_node_that_goes_down(runs):
    process = runs.start(site=runs.site(more="exclusive = true\n"))
    with runs.in_its_middle(process, "w0", "w1") as (launch, other):
        assert launch.node != other.node
        runs.slurm.kill_node(launch.node)
    assert_retried_once(runs, process, launch.node)
    assert_the_other_finished(runs)


def test_a_pyscale_that_is_killed_is_taken_up_from_another_shell(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        runs.kill(process)
        assert "run --resume" in runs.say("status")
        second = runs.resume()
        runs.slurm.wait_for(lambda: len(runs.events("run_started")) == 2, "the run was resumed")
    runs.completed(second)
    # The same process has done the work: nothing was started anew.
    assert runs.launched(second).pid == launch.pid
    assert runs.set_aside() == []
    assert len(runs.events("trial_taken_up")) == 1
    assert runs.events("trial_retried") == []


def test_two_pyscale_on_one_run(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        code, said = runs.finished(runs.resume())
        assert code == 2
        assert "is writing the run" in said
    runs.completed(process)
