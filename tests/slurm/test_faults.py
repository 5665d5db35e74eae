"""Each fault of a cluster while a run holds a job: it becomes whole, or says why it cannot."""

import getpass
import os
import signal
from random import Random

import psutil
import pytest

from pyscale.slurm.queue import ends_of
from pyscale.store.taskfiles import read_task
from slurm.leftovers import has_ended

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("PYSCALE_TEST_KILLS", "3"))


def assert_failed_for(runs, process, *words):
    """The run ends without its trial, tried once, and says why in these words."""
    code, said = runs.finished(process)
    assert code == 1, said
    (failure,) = runs.events("trial_failed")
    told = " ".join(runs.say("status").split())
    for word in words:
        assert word in failure.detail
        assert word in told
    assert runs.events("trial_retried") == []
    assert runs.living_jobs() == []


# Python runs it at its start: a task holds more memory than it asked for, until it is killed.
HOARD = """\
import signal, sys
if "pyscale_stages" in sys.orig_argv:
    hoard = bytearray(400 << 20)
    signal.pause()
"""


def test_more_memory_than_asked_for_is_named_and_not_tried_again(runs):
    (runs.python_path / "sitecustomize.py").write_text(HOARD)
    assert_failed_for(runs, runs.start(), "out of memory", "memory_gib")


def test_a_time_limit_of_a_task_is_named_and_not_tried_again(runs):
    process = runs.start(site=runs.site(time_min=1))
    with runs.in_its_middle(process, "w0"):
        # The controller looks after a minute, each half a minute.
        assert_failed_for(runs, process, "time limit", "time_min")


def test_a_task_whose_input_is_gone_fails_alone_and_leaves_the_run_resumable(runs):
    process = runs.start("--workers", "2")
    hidden = runs.data.with_suffix(".hidden")
    with runs.in_its_middle(process, "w0") as (launch,):
        # Its input was read before it is looked for.
        runs.slurm.wait_for(lambda: read_task(runs.trial / "w1").state == "done", "w1 was done")
        runs.data.rename(hidden)
    assert_failed_for(runs, process, runs.data.name)
    assert set(runs.states().values()) == {"done", "failed"}
    assert launch.job_id == runs.jobs[0]
    hidden.rename(runs.data)
    runs.copied(runs.resume(), jobs=2)


def test_a_task_that_is_killed_and_a_step_that_is_cancelled_by_hand_are_tried_again(runs):
    process = runs.start("--workers", "2", "--set", "retries=2")
    with runs.in_its_middle(process, "w0", "w1") as (launch, _):
        runs.hold("w0")
        os.kill(launch.pid, signal.SIGKILL)
    with runs.in_its_middle(process, "w0"):
        runs.slurm.wait_for(lambda: read_task(runs.trial / "w1").state == "done", "w1 was done")
        runs.slurm.cancel_steps()
    runs.copied(process, jobs=1)
    killed, cancelled = runs.events("trial_failed")
    assert "SIGKILL" in killed.detail
    assert "was cancelled" in cancelled.detail
    assert len(runs.events("trial_retried")) == 2
    assert "SIGKILL" in runs.say("status", "--log")
    assert runs.set_aside() == ["step-n2-b1.failed-1", "step-n2-b1.failed-2"]
    # The worker that the fault left alone finished its work in the attempt that failed.
    assert read_task(runs.run.path / "tasks" / "step-n2-b1.failed-1" / "w1").state == "done"


STRIKES = {
    "its time limit": (lambda runs, _: runs.slurm.end_time_of(runs.jobs[0]), "TIMEOUT"),
    "an urgent job": (lambda runs, node: runs.slurm.preempt(node), "PREEMPTED"),
    "its node is down": (lambda runs, node: runs.slurm.kill_node(node), "NODE_FAIL"),
}
"""What ends a job, and what Slurm calls such an end."""


def is_gone(launch):
    try:
        return has_ended(psutil.Process(launch.pid))
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("strike", STRIKES)
def test_whatever_ends_the_job_the_run_becomes_whole_in_another(runs, strike):
    strikes, state = STRIKES[strike]
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        strikes(runs, launch.node)
        runs.slurm.wait_for(lambda: is_gone(launch), "the task went with its job")
    runs.copied(process, jobs=2)
    assert runs.events("trial_failed") == []
    assert runs.set_aside() == ["step-n1-b1.interrupted-1"]
    (ended,) = runs.events("allocation_ended")
    first = runs.jobs[0]
    end = ends_of([first])[first]
    assert (end.state, end.node) == (state, launch.node)
    assert ended.job_ids == (first,)
    assert launch.node in ended.detail


@pytest.mark.parametrize("more", [(), ("--detach",)], ids=["followed", "detached"])
def test_a_job_that_is_cancelled_by_hand_ends_the_run_which_can_be_gone_on_with(runs, more):
    process = runs.start(*more)
    with runs.in_its_middle(process, "w0") as (launch,):
        runs.slurm.run("scancel", runs.jobs[0])
        runs.slurm.wait_for(lambda: is_gone(launch), "the task went with its job")
    resume = f"pyscale resume {runs.run.path.name}"
    first = runs.jobs[0]
    if more:
        runs.slurm.wait_for(lambda: runs.living_jobs() == [], "nobody follows the run")
        assert resume in runs.say("status")
    else:
        code, said = runs.finished(process)
        assert code == 2
        user = getpass.getuser()
        assert f"error: job {first} was cancelled by {user}: go on with `{resume}`" in said
    assert len(runs.jobs) == 1
    assert runs.living_jobs() == []
    end = ends_of([first])[first]
    assert (end.state, end.node) == ("CANCELLED", launch.node)
    runs.copied(runs.resume(), jobs=2)
    assert runs.events("trial_failed") == []


def test_a_pilot_that_is_killed_is_followed_by_another_where_there_are_no_accounts(
    runs, broken_sacct
):
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        (pilot,) = runs.pilots()
        pilot.kill()
        runs.slurm.wait_for(lambda: is_gone(launch), "the task went with its job")
    runs.copied(process, jobs=2)
    assert runs.events("trial_failed") == []
    assert len(runs.events("allocation_ended")) == 1


def test_the_job_is_requeued_all_the_same(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.slurm.requeue(*runs.jobs)
        runs.wait_for_event("pilot_started", 2)
    runs.copied(process, jobs=1)
    assert runs.events("trial_failed") == []


def test_the_controller_is_away_for_a_while(runs):
    process = runs.start("--repeats", "2")
    with runs.in_its_middle(process, "w0"):
        runs.slurm.stop_slurmctld()
        # Slurm lets a step wait for minutes that is asked for before its nodes are heard of.
        (pilot,) = runs.pilots()
        pilot.suspend()
    runs.slurm.wait_for(lambda: read_task(runs.trial / "w0").state == "done", "w0 was done")
    runs.slurm.start_slurmctld()
    for node in runs.slurm.nodes:
        runs.slurm.wait_until_heard(node)
    pilot.resume()
    runs.copied(process, jobs=1)
    assert runs.events("trial_failed") == []


def test_a_job_that_lives_on_without_its_slurmd_ends_when_it_learns_that_slurm_gave_it_up(runs):
    process = runs.start("--repeats", "2")
    with runs.in_its_middle(process, "w0") as (launch,):
        runs.slurm.kill_slurmd(launch.node)
        runs.slurm.wait_for(lambda: runs.living_jobs() == [], "Slurm gave the job up")
        assert not is_gone(launch)
    runs.copied(process, jobs=2)
    assert runs.events("trial_failed") == []


def test_a_disk_that_fills_up_is_named_and_the_run_can_be_finished(runs, mount_in_memory):
    small_disk = mount_in_memory(runs.home / "runs", "size=2m")
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        room = os.statvfs(small_disk)
        filler = small_disk / "filler"
        filler.write_bytes(b"x" * (room.f_bavail * room.f_frsize))
    code, said = runs.finished(process)
    assert code in {1, 2, 3}, said
    assert "is full" in said or "is full" in runs.say("status")
    filler.unlink()
    assert runs.living_jobs() == []
    runs.completed(runs.resume())
    assert runs.status()["state"] == "complete"


def test_three_jobs_that_end_alike_stop_the_run(runs):
    site = runs.site()
    site.write_text('setup = ["exit 7"]\n' + site.read_text())
    code, said = runs.finished(runs.start(site=site))
    assert code == 2, said
    assert "3 allocations ended alike in a row" in said
    assert len(runs.jobs) == 3


def test_kills_of_the_pilot_at_random_moments_lose_and_double_nothing(runs):
    chance = Random(1)
    process = runs.start("--repeats", "3")
    for kill in range(1, KILLS + 1):
        begun = next_pilot(runs, process, kill)
        if begun is None:
            process = runs.resume()
            begun = next_pilot(runs, process, kill) or 0
        # A moment is an event of the journal: the pilot dies after the first, the second …
        wait_for_events(runs, begun + chance.randrange(8))
        for pilot in runs.pilots():
            pilot.kill()
    while runs.finished(process)[0] != 0:
        process = runs.resume()
    runs.assert_copied()


def wait_for_events(runs, count):
    """Wait until the journal has so many events, or the run has finished."""
    runs.slurm.wait_for(
        lambda: len(runs.events()) >= count or bool(runs.events("run_finished")),
        f"there were {count} events",
    )


def next_pilot(runs, process, number):
    """Events there are when a further pilot has begun; None where the run was stopped before."""

    def begun():
        return process.poll() is not None or (
            len(runs.events("pilot_started")) >= number or bool(runs.events("run_finished"))
        )

    runs.slurm.wait_for(begun, f"pilot {number} began")
    return None if process.poll() is not None else len(runs.events())
