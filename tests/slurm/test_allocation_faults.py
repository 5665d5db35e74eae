"""Each fault that a cluster has while a run holds one job: nothing is lost, nothing is doubled."""

import os
import signal
from random import Random

import psutil
import pytest

from pyscale.store.allocations import read_allocations
from pyscale.store.folder import RunFolder
from slurm.test_faults import assert_failed_for, assert_resume_completes
from trials import outputs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("holding")]
KILLS = int(os.environ.get("PYSCALE_TEST_KILLS", "3"))


def jobs(runs):
    return read_allocations(runs.run.path).job_ids


def pilots_of(runs):
    """Processes that work off the run inside its job: one, or none."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if "pyscale.executors.submitted" in (process.info["cmdline"] or ())
        and any(str(runs.run.path) in word for word in process.info["cmdline"])
    ]


def assert_whole(runs, process, *words, allocations):
    """The run becomes whole, its trial begun anew and in no other way tried again."""
    runs.completed(process)
    assert len(runs.events("trial_finished")) == len(runs.run.plan.trials)
    assert len(jobs(runs)) == allocations
    assert runs.events("trial_failed") == []
    for word in words:
        assert word in runs.events("allocation_ended")[0].detail
    assert runs.living_jobs() == []


def test_a_step_that_is_cancelled_by_hand_is_tried_again(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.slurm.cancel_steps()
        runs.wait_for_failure()
    runs.completed(process)
    assert "was cancelled" in runs.events("trial_failed")[0].detail
    assert runs.set_aside() == ["contact-n2-b1.failed-1"]
    assert len(jobs(runs)) == 1


def test_a_time_limit_of_a_task_is_named_and_not_tried_again(runs):
    site = runs.site()
    site.write_text(site.read_text().replace("time_min = 30", "time_min = 1"))
    process = runs.start(site=site)
    with runs.in_its_middle(process, "w0"):
        assert_failed_for(runs, process, "time limit", "time_min")
    assert_resume_completes(runs)


STRIKES = {
    "cancelled": (lambda runs, _: runs.slurm.run("scancel", jobs(runs)[0]), "was cancelled"),
    "its time limit": (lambda runs, _: runs.slurm.end_time_of(jobs(runs)[0]), "time limit"),
    "an urgent job": (lambda runs, node: runs.slurm.preempt(node), "was preempted"),
    "its node is down": (lambda runs, node: runs.slurm.kill_node(node), "lost a node"),
    "its pilot is killed": (lambda runs, _: pilots_of(runs)[0].kill(), ""),
}


@pytest.mark.parametrize("strike", STRIKES)
def test_whatever_ends_the_job_the_run_becomes_whole_in_another(runs, strike):
    strikes, said = STRIKES[strike]
    process = runs.start()
    with runs.in_its_middle(process, "w0") as (launch,):
        strikes(runs, launch.node)
        runs.slurm.wait_for(lambda: len(jobs(runs)) == 2, "another was submitted")
    assert_whole(runs, process, said, allocations=2)


def test_the_job_is_requeued_all_the_same(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.slurm.requeue(*jobs(runs))
        runs.slurm.wait_for(lambda: len(runs.events("pilot_started")) == 2, "it started again")
    assert_whole(runs, process, allocations=1)


def test_the_controller_is_away_for_a_while(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0", "w1"):
        runs.slurm.stop_slurmctld()
        # Slurm lets a step wait for minutes that is asked for before its nodes are heard of.
        (pilot,) = pilots_of(runs)
        pilot.suspend()
    runs.slurm.wait_for(
        lambda: {runs.states()[f"contact-n2-b1/{task}"] for task in ("w0", "w1")} == {"done"},
        "the windows ended",
    )
    runs.slurm.start_slurmctld()
    for node in runs.slurm.nodes:
        runs.slurm.wait_until_heard(node)
    pilot.resume()
    assert_whole(runs, process, allocations=1)


def test_who_follows_is_killed_and_the_job_goes_on(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.kill(process)
    runs.slurm.wait_for(lambda: bool(runs.events("run_finished")), "the run finished alone")
    assert_whole(runs, runs.resume(), allocations=1)


def test_ctrl_c_leaves_the_job_and_says_how_to_go_on(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        os.kill(process.pid, signal.SIGINT)
        code, said = runs.finished(process)
        assert code == 130
        assert jobs(runs)[0] in said
        assert "run --resume" in said
        assert "pyscale cancel" in said
        second = runs.resume()
        third = runs.resume()
    assert_whole(runs, second, allocations=1)
    runs.completed(third)


def test_three_jobs_that_end_alike_stop_the_run(runs):
    site = runs.site()
    site.write_text('setup = ["exit 7"]\n' + site.read_text())
    code, said = runs.finished(runs.start(site=site))
    assert code == 2, said
    assert "3 allocations ended alike in a row" in said
    assert len(jobs(runs)) == 3


def test_kills_of_the_pilot_at_random_moments_lose_and_double_nothing(runs, tmp_path, monkeypatch):
    chance = Random(1)
    asked = ("--only", "contact", "--only", "track", "--workers", "1,2", "--repeats", "2")
    process = runs.start(*asked)
    for kill in range(1, KILLS + 1):
        begun = next_pilot(runs, process, kill)
        if begun is None:
            process = runs.resume()
            begun = next_pilot(runs, process, kill) or 0
        # A moment is an event of the journal: the pilot dies after the first, the second …
        wait_for_events(runs, begun + chance.randrange(8))
        for pilot in pilots_of(runs):
            pilot.kill()
    while runs.finished(process)[0] != 0:
        process = runs.resume()
    held = runs.run
    assert set(runs.states().values()) == {"done"}
    finished = [event.trial for event in runs.events("trial_finished")]
    assert sorted(map(str, finished)) == sorted(trial.id for trial in held.plan.trials)
    assert runs.living_jobs() == []
    monkeypatch.setenv("PYSCALE_RUNS_FOLDER", str(tmp_path / "local"))
    runs.say("run", "labels", "--data", runs.movie, "--keep-outputs", "all", *asked)
    (path,) = (tmp_path / "local").iterdir()
    assert outputs(held) == outputs(RunFolder(path))


def wait_for_events(runs, count):
    """Wait until the journal has so many events, or the run has finished."""
    runs.slurm.wait_for(
        lambda: len(runs.events()) >= count or bool(runs.events("run_finished")),
        f"there were {count} events",
    )


def next_pilot(runs, process, number):
    """Events there are when a further pilot has begun; None where the run was stopped before."""

    def begun():
        if process.poll() is not None:
            return True
        if not any((runs.home / "runs").glob("*/plan.json")):
            return False
        return len(runs.events("pilot_started")) >= number or bool(runs.events("run_finished"))

    runs.slurm.wait_for(begun, f"pilot {number} began")
    return None if process.poll() is not None else len(runs.events())
