"""Where a run and its job are, as a real Slurm tells it beside their records."""

import pytest

pytestmark = pytest.mark.slow


def words(runs, *more):
    return " ".join(runs.say("status", *more).split())


def allocation(runs):
    return runs.status()["allocations"][-1]


def tasks_of_first(status):
    return {task["task"]: task for task in status["trials"][0]["tasks"]}


def test_a_run_is_told_from_the_queue_to_its_end_and_while_slurm_is_away(runs, endless):
    other = runs.slurm.submit("--nodes=2", "--exclusive", "--output=/dev/null", endless)
    runs.slurm.wait_until_running(other)
    process = runs.start("--workers", "2")
    runs.wait_for_event("allocation_submitted")
    (job,) = runs.jobs
    for command, why in {
        (): "waiting for free nodes",
        ("scontrol", "uhold", job): "held by its user",
    }.items():
        if command:
            runs.slurm.run(*command)
        runs.slurm.wait_for(
            lambda why=why: allocation(runs)["why"].startswith(why), f"it was {why}"
        )
    status = runs.status()
    assert (status["state"], allocation(runs)["state"]) == ("queued", "queued")
    assert f"allocation {job} waits in the queue: held by its user" in words(runs)
    runs.hold("w0", "w1")
    runs.slurm.run("scontrol", "release", job)
    runs.slurm.run("scancel", other)
    with runs.in_its_middle(process, "w0") as (launch,):
        status = runs.status()
        assert status["state"] == "running"
        assert allocation(runs)["state"] == "running"
        assert 0 < allocation(runs)["left_s"] < 12 * 3600
        assert allocation(runs)["waited_s"] > 0
        task = tasks_of_first(status)["w0"]
        assert (task["state"], task["node"]) == ("running", launch.node)
        assert task["elapsed_s"] > 0
        runs.slurm.stop_slurmctld()
        told = words(runs)
        assert "Slurm does not answer (" in told
        assert "this shows the records only" in told
        assert "running" in told
        runs.slurm.start_slurmctld()
        runs.kill(process)
        # Who works is the job: nobody need follow it.
        assert runs.status()["state"] == "running"
        runs.say("cancel")
    status = runs.status()
    assert status["state"] == "cancelled"
    assert {each["state"] for each in status["allocations"]} == {"ended"}


def test_a_run_whose_job_is_lost_while_nobody_follows_says_how_to_go_on(runs, broken_sacct):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.kill(process)
        runs.slurm.run("scancel", *runs.jobs)
        runs.slurm.wait_for(lambda: runs.status()["state"] == "interrupted", "it was interrupted")
    assert f"finish it with: pyscale resume {runs.run.path.name}" in words(runs)
    runs.copied(runs.resume(), jobs=2)
