"""A run on a real cluster: what is submitted, what it leaves, and what ends it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pyscale.results import results_of
from pyscale.slurm.queue import job_name, jobs_named
from pyscale.store.folder import RunFolder
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import read_jobs
from pyscale_stages.moviewriter import write_movie
from slurm.cluster import SlurmCluster
from slurm.runs import ClusterRuns
from trials import outputs

pytestmark = pytest.mark.slow


def test_a_cluster_computes_what_one_machine_does_and_jobs_nodes_and_requests_are_recorded(
    runs: ClusterRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = runs.finished(runs.start("--workers", "1,2"))
    assert code == 0, said
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
    assert not results_of(on_cluster).configurations["flags"].list.contains("retried").any()
    monkeypatch.setenv("PYSCALE_RUNS_FOLDER", str(tmp_path / "local"))
    runs.say(
        *("run", "labels", "--data", runs.movie, "--only", "contact", "--workers", "1,2"),
        *("--repeats", "1", "--keep-outputs", "all"),
    )
    (path,) = (tmp_path / "local").iterdir()
    assert outputs(on_cluster) == outputs(RunFolder(path))


def test_more_windows_than_workers_run_a_few_at_once(runs: ClusterRuns) -> None:
    code, said = runs.finished(runs.start("--chunks-per-worker", "3"))
    assert code == 0, said
    tasks = build_tables(runs.run).tasks
    windows = tasks.filter(pl.col("verb") == "run")
    assert len(windows) == 6
    moments = windows["start_utc"].to_list()
    at_once = [
        windows.filter(pl.col("start_utc") <= moment, pl.col("end_utc") > moment).height
        for moment in moments
    ]
    assert max(at_once) <= 2


def test_of_many_windows_none_is_lost_and_none_is_done_twice(runs: ClusterRuns) -> None:
    frames = 24
    write_movie(runs.movie, np.ones((frames, 8, 8), np.uint16), "TYX")
    code, said = runs.finished(runs.start("--workers", "8", "--chunks-per-worker", "3"))
    assert code == 0, said
    tasks = build_tables(runs.run).tasks
    windows = tasks.filter(pl.col("verb") == "run")
    assert windows["frames"].to_list() == [1] * frames
    assert windows["job_id"].n_unique() == frames
    assert runs.set_aside() == []
    logs = [path.name for path in runs.run.submissions.glob("*_result.pkl")]
    assert len(logs) == frames + 1, "each window and the merge ran once"


def test_the_workers_of_a_gang_are_ranks_of_one_job(runs: ClusterRuns) -> None:
    code, said = runs.finished(runs.start("--workers", "1,3", "--layout", "gang"))
    assert code == 0, said
    tasks = build_tables(runs.run).tasks
    ranks = tasks.filter(pl.col("verb") == "run", pl.col("workers") == 3)
    assert ranks["job_id"].n_unique() == 1
    assert ranks["frames"].to_list() == [2, 2, 2]


def test_detached_a_run_goes_on_and_status_follows_it(runs: ClusterRuns) -> None:
    run_id = runs.say(
        *("run", "labels", "--data", runs.movie, "--only", "contact", "--workers", "2"),
        *("--repeats", "1", "--executor", "slurm", "--site", runs.site(), "--detach"),
    ).strip()
    assert runs.run.path.name == run_id
    runs.say("status", run_id, "--watch")
    status = json.loads(runs.say("status", run_id, "--json"))
    assert status["state"] == "complete"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_ended_pyscale_leaves_no_job(runs: ClusterRuns, number: signal.Signals) -> None:
    process = runs.start()
    with runs.in_its_middle(process, "w0", "w1"):
        os.killpg(process.pid, number)
        code, said = runs.finished(process)
    assert code == 130
    assert f"pyscale run --resume {runs.run.path.name}" in said
    assert runs.living_jobs() == []
    assert runs.finished(runs.command("run", "--resume", runs.run.path.name))[0] == 0
    assert set(runs.states().values()) == {"done"}
    # What pyscale itself ended is no failure, so the trial counts.
    assert runs.set_aside() == ["contact-n2-b1.interrupted-1"]
    assert runs.events("trial_retried") == []


def test_cancel_from_another_shell_leaves_no_job(runs: ClusterRuns) -> None:
    process = runs.start()
    with runs.in_its_middle(process, "w0"):
        runs.say("cancel")
        runs.finished(process)
    assert runs.living_jobs() == []
    assert json.loads(runs.say("status", "--json"))["state"] == "cancelled"


def test_cancel_ends_jobs_that_outlived_their_pyscale(runs: ClusterRuns) -> None:
    process = runs.start()
    with runs.in_its_middle(process, "w0", "w1"):
        runs.slurm.wait_for(lambda: "merge" in read_jobs(runs.trial), "the merge was submitted")
        process.kill()
        process.communicate()
        jobs = jobs_named(job_name(runs.run.plan.run_id))
        assert jobs.pop(runs.job_of("merge")).reason == "Dependency"
        assert {job.state for job in jobs.values()} == {"RUNNING"}
        runs.say("cancel")
    assert runs.living_jobs() == []


def test_trials_wait_in_the_queue_together_and_run_one_after_the_other(runs: ClusterRuns) -> None:
    code, said = runs.finished(runs.start("--repeats", "4"))
    assert code == 0, said
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


def test_a_site_that_is_wrong_is_refused_before_anything_is_submitted(
    runs: ClusterRuns, slurm: SlurmCluster
) -> None:
    before = slurm.known_jobs()
    code, said = runs.finished(runs.start(site=runs.site("absent")))
    assert code == 2
    assert "absent" in said
    assert slurm.known_jobs() <= before
