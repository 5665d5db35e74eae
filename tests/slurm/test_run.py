"""A run on a real cluster: what is submitted, what it leaves, and what ends it."""

import json
import os
import re
import signal

import numpy as np
import polars as pl
import pytest

from pyscale.evaluation.results import results_of
from pyscale.executors.submission import script, submissions
from pyscale.slurm.queue import job_name, jobs_named
from pyscale.store.folder import RunFolder
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import read_jobs
from pyscale_stages.moviewriter import write_movie
from trials import outputs

pytestmark = pytest.mark.slow


@pytest.fixture
def odd_folder(runs, monkeypatch):
    folder = runs.home / """a b, [c] 'd' "e" $f #g"""
    monkeypatch.setenv("PYSCALE_RUNS_FOLDER", str(folder))


def assert_submitted_as_a_dry_run_shows(folder):
    assert folder.plan.site is not None
    shown = [
        script(
            folder.plan.site,
            submission,
            run_id=folder.plan.run_id,
            folder=folder.submissions,
        )
        for trial in folder.plan.trials
        for submission in submissions(folder.plan, trial)
    ]
    submitted = [file.read_text() for file in folder.submissions.glob("*_submission.sh")]
    # Which job each of them waits for is known when it is submitted.
    unheld = [re.sub(r"#SBATCH --dependency=afterany:\d+\n", "", text) for text in submitted]
    # A merge and a check wait for one; windows only where Slurm has not ended what was before.
    assert sum(text != held for text, held in zip(unheld, submitted, strict=True)) >= 2
    assert sorted(unheld) == sorted(shown)


@pytest.mark.usefixtures("odd_folder")
def test_a_cluster_computes_what_one_machine_does_and_jobs_nodes_and_requests_are_recorded(
    runs, tmp_path, monkeypatch
):
    runs.completed(runs.start("--workers", "1,2"))
    tasks = build_tables(runs.run).tasks
    windows = tasks.filter(pl.col("verb") == "run")
    assert set(windows["node"]) <= set(runs.slurm.nodes)
    assert windows["requested_cpus"].to_list() == [1, 1, 1]
    assert windows["requested_memory_bytes"].to_list() == [2**30] * 3
    assert (windows["queue_s"] > 0).all()
    # The less a machine has to do, the surer it is.
    assert (windows["clock_error_s"] < 5).all()
    assert windows["cache_state"].is_in(["verified-cold", "unsupported"]).all()
    both = windows.filter(pl.col("workers") == 2)["job_id"].to_list()
    assert [job.partition("_")[2] for job in both] == ["0", "1"]
    assert len({job.partition("_")[0] for job in both}) == 1
    on_cluster = runs.run
    assert_submitted_as_a_dry_run_shows(on_cluster)
    assert not results_of(on_cluster).configurations["flags"].list.contains("retried").any()
    monkeypatch.setenv("PYSCALE_RUNS_FOLDER", str(tmp_path / "local"))
    runs.say(*runs.contacts("--workers", "1,2", "--keep-outputs", "all"))
    (path,) = (tmp_path / "local").iterdir()
    assert outputs(on_cluster) == outputs(RunFolder(path))


def test_of_many_windows_a_few_run_at_once_and_each_once(runs):
    frames = 24
    write_movie(runs.movie, np.ones((frames, 8, 8), np.uint16), "TYX")
    at_once = 4
    runs.completed(runs.start("--workers", at_once, "--chunks-per-worker", frames // at_once))
    windows = build_tables(runs.run).tasks.filter(pl.col("verb") == "run")
    for moment in windows["start_utc"]:
        running = windows.filter(pl.col("start_utc") <= moment, pl.col("end_utc") > moment)
        assert running.height <= at_once
    assert windows["frames"].to_list() == [1] * frames
    assert windows["job_id"].n_unique() == frames
    assert runs.set_aside() == []
    logs = [path.name for path in runs.run.submissions.glob("*_result.pkl")]
    assert len(logs) == frames + 1, "each window and the merge ran once"


@pytest.mark.usefixtures("odd_folder")
def test_the_workers_of_a_gang_are_ranks_of_one_job(runs):
    runs.completed(runs.start("--workers", "1,3", "--layout", "gang"))
    tasks = build_tables(runs.run).tasks
    ranks = tasks.filter(pl.col("verb") == "run", pl.col("workers") == 3)
    assert ranks["job_id"].n_unique() == 1
    assert ranks["frames"].to_list() == [2, 2, 2]
    assert_submitted_as_a_dry_run_shows(runs.run)


def test_detached_a_run_goes_on_and_status_follows_it(runs):
    run_id = runs.detach()
    assert runs.run.path.name == run_id
    runs.say("status", run_id, "--watch")
    status = json.loads(runs.say("status", run_id, "--json"))
    assert status["state"] == "complete"


def test_an_ended_pyscale_leaves_no_job(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0", "w1"):
        os.killpg(process.pid, signal.SIGINT)
        code, said = runs.finished(process)
    assert code == 130
    assert f"pyscale run --resume {runs.run.path.name}" in said
    assert runs.living_jobs() == []
    runs.completed(runs.resume())
    # What pyscale itself ended is no failure, so the trial counts.
    assert runs.set_aside() == ["contact-n2-b1.interrupted-1"]
    assert runs.events("trial_retried") == []


def test_cancel_from_another_shell_leaves_no_job(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.say("cancel")
        runs.finished(process)
    assert runs.living_jobs() == []
    assert json.loads(runs.say("status", "--json"))["state"] == "cancelled"


def test_cancel_ends_jobs_that_outlived_their_pyscale(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0", "w1"):
        runs.slurm.wait_for(lambda: "merge" in read_jobs(runs.trial), "the merge was submitted")
        runs.kill(process)
        jobs = jobs_named(job_name(runs.run.plan.run_id))
        assert jobs.pop(runs.job_of("merge")).reason == "Dependency"
        assert {job.state for job in jobs.values()} == {"RUNNING"}
        runs.say("cancel")
    assert runs.living_jobs() == []


def test_trials_wait_in_the_queue_together_and_run_one_after_the_other(runs):
    runs.completed(runs.start("--repeats", "4"))
    trials = [trial.id for trial in runs.run.plan.trials]
    events = runs.events("submitted", "trial_started", "trial_finished")
    told = [(event.kind, event.trial) for event in events]
    # The first is what the others are compared with.
    assert told.index(("submitted", trials[3])) < told.index(("trial_finished", trials[1]))
    assert [trial for kind, trial in told if kind == "trial_started"] == trials
    times = (
        build_tables(runs.run)
        .tasks.group_by("trial")
        .agg(
            begin=pl.col("begin_utc").min(),
            end=pl.col("end_utc").max(),
            waited=pl.col("queue_s").max(),
        )
    )
    in_order = times.sort("begin")
    assert in_order["trial"].to_list() == trials
    assert (in_order["begin"].slice(1) >= in_order["end"].head(3)).all()
    assert (in_order["waited"] >= 0).all()
