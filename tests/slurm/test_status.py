"""Where the tasks of a run are, as a real Slurm tells it beside their records."""

import getpass
import os
from datetime import UTC, datetime

import pytest

from mockruns import plan_of
from pyscale.planning.planentry import Dataset
from pyscale.planning.sites import load_site
from pyscale.planning.suite import load_suite
from pyscale.progress import statusview
from pyscale.progress.status import run_status
from pyscale.slurm.queue import job_name
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.lock import run_lock
from pyscale.store.records import LAUNCH_FILE, ORDER_FILE, Jobs, LaunchRecord, TaskOrder
from pyscale.store.taskfiles import write_jobs, write_order
from trials import end_task

N_TASKS = 4
HOUR_S = 3600


@pytest.fixture
def run(tmp_path):
    """A run on a cluster with one trial of four windows."""
    movie = tmp_path / "movie.tif"
    movie.write_bytes(b"frames")
    what = (load_suite("labels"), Dataset(movie, frames=N_TASKS), tmp_path / "runs", (N_TASKS,))
    plan = plan_of(*what, only=("contact",), on_site=load_site("plain"), repeats=1)
    run = RunFolder.create(tmp_path / "runs", plan)
    for task in trial_of(run).window_tasks:
        folder = run.task(trial_of(run), task)
        folder.mkdir(parents=True)
        write_order(folder, TaskOrder(argv=("true",)))
    Journal(run.journal_file).append("run_started")
    Journal(run.journal_file).append("trial_started", trial_of(run).id)
    return run


def trial_of(run):
    return run.plan.trials[0]


def submit(slurm, run, script, *options):
    """Submit the windows as an array and record their jobs."""
    job = slurm.submit(
        f"--array=0-{N_TASKS - 1}{options[0] if options else ''}",
        f"--job-name={job_name(run.plan.run_id)}",
        "--no-requeue",
        "--output=/dev/null",
        *options[1:],
        script,
    )
    jobs = {f"w{number}": f"{job}_{number}" for number in range(N_TASKS)}
    write_jobs(run.trial(trial_of(run)), "windows", Jobs(job_ids=jobs))
    return job


def record_launch(run, task, node):
    folder = run.task(trial_of(run), task)
    token = TaskOrder.model_validate_json((folder / ORDER_FILE).read_bytes()).token
    now = datetime.now(UTC)
    launch = LaunchRecord(token=token, pid=1, node=node, begin_utc=now, spawn_utc=now, cpus=())
    (folder / LAUNCH_FILE).write_text(launch.model_dump_json())


def attended(run):
    return run_lock(run.path)


def states(status, told="state"):
    (trial,) = status.trials
    return {task.task: getattr(task, told) for task in trial.tasks if task.task.startswith("w")}


def why(status):
    return states(status, "why")


def running(slurm, job):
    return [task["JobState"] for task in slurm.job(job)].count("RUNNING")


def test_tasks_start_run_and_wait_for_each_other(slurm, run, endless):
    job = submit(slurm, run, endless, "%2")
    slurm.wait_for(lambda: running(slurm, job) == 2, "two tasks ran")
    with attended(run):
        # The others have no reason to wait until the controller looks at them.
        waits = "waiting for an earlier task of its array"
        slurm.wait_for(lambda: why(run_status(run))["w3"] == waits, "the others waited for them")
        status = run_status(run)
        assert states(status) == {
            "w0": "starting",
            "w1": "starting",
            "w2": "queued",
            "w3": "queued",
        }
        assert status.trials[0].tasks[0].node in slurm.nodes
        assert (status.jobs.running, status.jobs.queued) == (2, 2)
        record_launch(run, "w0", "n1")
        task = run_status(run).trials[0].tasks[0]
        assert (task.task, task.state, task.node) == ("w0", "running", "n1")
        assert task.job_id == f"{job}_0"
        assert task.elapsed_s is not None


def test_a_record_wins_over_a_slurm_that_does_not_know_yet(slurm, run, endless):
    job = submit(slurm, run, endless, "%2")
    slurm.wait_for(lambda: running(slurm, job) == 2, "two tasks ran")
    record_launch(run, "w0", "n1")
    end_task(run.task(trial_of(run), "w0"), -9)
    with attended(run):
        status = run_status(run)
    assert states(status)["w0"] == "failed"
    assert "SIGKILL" in why(status)["w0"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("", "--hold"), "held by its user"),
        (("", "--begin=now+1hour"), "waiting for its time to begin"),
        (("", "--nodes=2", "--exclusive"), "waiting for free nodes"),
    ],
)
def test_why_a_task_waits_is_said_in_plain_words(slurm, run, endless, options, words):
    other = slurm.submit("--output=/dev/null", endless)
    slurm.wait_for(lambda: running(slurm, other) == 1, "another job ran")
    submit(slurm, run, endless, *options)
    with attended(run):
        slurm.wait_for(
            lambda: any(reason.startswith(words) for reason in why(run_status(run)).values()),
            f"a task was {words}",
        )


def cancel_one(slurm, run, script):
    """Submit the windows, and cancel the second when all run; return its job."""
    job = submit(slurm, run, script)
    slurm.wait_for(lambda: running(slurm, job) == N_TASKS, "all tasks ran")
    slurm.run("scancel", f"{job}_1")
    return f"{job}_1"


def test_a_cancelled_task_without_a_record_is_gone(slurm, run, endless):
    cancel_one(slurm, run, endless)
    with attended(run):
        slurm.wait_for(lambda: states(run_status(run))["w1"] == "gone", "the task was gone")
        assert "waiting for its record" in why(run_status(run))["w1"]


def test_where_no_pyscale_lives_the_accounts_tell_why_a_task_is_gone(
    slurm_with_accounting, run, endless
):
    job = cancel_one(slurm_with_accounting, run, endless)
    cancelled = f"job {job} was cancelled by {getpass.getuser()} on n"
    slurm_with_accounting.wait_for(
        lambda: why(run_status(run))["w1"].startswith(cancelled), "the accounts told"
    )


def test_accounts_that_fail_leave_the_word_of_the_controller(slurm, broken_sacct, run, endless):
    cancelled = f"job {cancel_one(slurm, run, endless)} was cancelled on n"
    slurm.wait_for(lambda: why(run_status(run))["w1"].startswith(cancelled), "the task was gone")


def test_a_job_that_slurm_forgot_is_gone_unless_it_was_submitted_just_now(slurm, run):
    jobs = {f"w{number}": f"999999_{number}" for number in range(N_TASKS)}
    write_jobs(run.trial(trial_of(run)), "windows", Jobs(job_ids=jobs))
    # However long Slurm takes to answer, the others were submitted after it was asked.
    for task, later_s in {"w0": -HOUR_S, "w1": HOUR_S, "w2": HOUR_S, "w3": HOUR_S}.items():
        order = run.task(trial_of(run), task) / ORDER_FILE
        os.utime(order, (order.stat().st_atime, order.stat().st_mtime + later_s))
    with attended(run):
        status = run_status(run)
    assert states(status) == {"w0": "gone", "w1": "queued", "w2": "queued", "w3": "queued"}


def test_a_slurm_that_does_not_answer_is_no_error(slurm, run, endless, capsys):
    submit(slurm, run, endless)
    record_launch(run, "w0", "n1")
    slurm.stop_slurmctld()
    with attended(run):
        statusview.show(str(run.path), watch=False, as_json=False, log=False)
    out = " ".join(capsys.readouterr().out.split())
    assert "Slurm does not answer (" in out
    assert "this shows the records only" in out
    assert "3 queued" in out
    assert "1 running" in out


def test_a_run_whose_pyscale_died_says_that_its_jobs_go_on(slurm, run, endless, capsys):
    job = submit(slurm, run, endless, "%3")
    slurm.wait_for(lambda: running(slurm, job) == 3, "three tasks ran")
    statusview.show(str(run.path), watch=False, as_json=False, log=False)
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "interrupted; 3 jobs still run and 1 job still waits; continue them with: "
        f"pyscale run --resume {run.path.name}, or end them with: pyscale cancel {run.path.name}"
        in out
    )
