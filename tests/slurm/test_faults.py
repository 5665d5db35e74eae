"""Each fault that a cluster has, on a real one: the others go on, and the run becomes whole."""

import os
import signal

import pytest

from pyscale.store.taskfiles import read_task

pytestmark = pytest.mark.slow


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
