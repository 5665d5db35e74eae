"""A run that holds one job: what is submitted, what runs in it, and what it leaves."""

import json

import polars as pl
import psutil
import pytest

from pyscale.store.allocations import read_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.tables import build_tables
from trials import outputs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("holding")]

ONE_PRETENDED_GPU = """
[[override]]
device = "cuda"
gpus = 1
"""


def test_a_whole_suite_is_one_job_and_computes_what_jobs_of_each_trial_do(
    runs, tmp_path, monkeypatch
):
    asked = ("--workers", "1,2", "--repeats", "2")
    before = runs.slurm.known_jobs()
    runs.completed(runs.start(*asked))
    held = runs.run
    (job,) = runs.slurm.known_jobs() - before
    assert read_allocations(held.path).job_ids == (job,)
    monkeypatch.setenv("PYSCALE_RUNS_FOLDER", str(tmp_path / "each"))
    runs.completed(runs.start(*asked, "--allocation", "each"))
    (path,) = (tmp_path / "each").iterdir()
    assert outputs(held) == outputs(RunFolder(path))
    ours, theirs = build_tables(held).tasks, build_tables(RunFolder(path)).tasks
    assert ours.schema == theirs.schema
    assert set(ours["job_id"]) == {job}
    alike = ["trial", "task", "requested_cpus", "requested_memory_bytes", "requested_gpus"]
    assert ours.select(alike).equals(theirs.select(alike))
    assert set(ours["node"]) <= set(runs.slurm.nodes)
    assert (ours.filter(pl.col("verb") == "run")["queue_s"] > 0).all()
    (started,) = json.loads(runs.say("status", held.path, "--json"))["allocations"]
    assert started["waited_s"] is not None


def test_ranks_are_one_step_of_the_job(runs):
    runs.completed(runs.start("--layout", "gang", "--workers", "1,3"))
    assert len(read_allocations(runs.run.path).jobs) == 1


def test_more_windows_than_workers_run_a_few_at_once(runs):
    runs.completed(runs.start("--chunks-per-worker", "3"))
    windows = build_tables(runs.run).tasks.filter(pl.col("verb") == "run")
    assert len(windows) == 6
    for moment in windows["start_utc"]:
        running = windows.filter(pl.col("start_utc") <= moment, pl.col("end_utc") > moment)
        assert running.height <= 2


def test_each_window_on_a_gpu_is_a_step_that_has_one_to_itself(runs):
    site = runs.site("gpu", more=ONE_PRETENDED_GPU)
    process = runs.start("--device", "cuda", site=site)
    with runs.in_its_middle(process, "w0", "w1") as launches:
        seen = {psutil.Process(one.pid).environ()["CUDA_VISIBLE_DEVICES"] for one in launches}
        assert seen == {"0", "1"}
    runs.finished(process)
    assert len(read_allocations(runs.run.path).jobs) == 1


def test_trials_that_need_two_kinds_of_nodes_submit_jobs_of_their_own(runs):
    two_kinds = runs.site(more='[[override]]\nstage = "track"\npartition = "gpu"\n')
    code, said = runs.finished(runs.start("--only", "track", site=two_kinds))
    assert code == 2
    assert "more than one partition (cpu and gpu)" in said
    assert "--allocation each" in said


def test_a_run_is_followed_by_whoever_resumes_it_and_ended_by_cancel(runs):
    follower = runs.command("run", "--resume", runs.detach())
    runs.completed(follower)
    assert len(read_allocations(runs.run.path).jobs) == 1


def test_cancel_ends_the_job_and_who_follows_it(runs):
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.say("cancel")
        code, said = runs.finished(process)
    assert code == 2, said
    assert "was cancelled" in said
    assert runs.living_jobs() == []
    runs.completed(runs.resume())
    assert len(read_allocations(runs.run.path).jobs) == 2


def test_a_run_that_is_extended_runs_only_what_is_new(runs):
    runs.completed(runs.start())
    runs.completed(runs.command("run", "--extend", "latest", "--repeats", "2"))
    finished = [event.trial for event in runs.events("trial_finished")]
    assert finished == ["contact-n2-b1", "contact-n2-b2"]
    assert len(read_allocations(runs.run.path).jobs) == 2


def test_a_trial_that_is_not_likely_to_fit_waits_for_the_next_job(runs):
    # A task may take half an hour, and a job six minutes: one kind of trial is begun in each.
    site = runs.site(more="hold_limit_hours = 0.1\n")
    runs.completed(runs.start("--only", "track", site=site))
    assert len(read_allocations(runs.run.path).jobs) == 2
    (ended,) = runs.events("allocation_ended")
    assert "no time for the next trial" in ended.detail
