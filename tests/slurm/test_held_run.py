"""A run on a real cluster holds one job: what is submitted, what runs in it, what it leaves."""

import polars as pl
import psutil
import pytest

from movingsquares import write_moving_squares
from pyscale.evaluation.results import results_of
from pyscale.store.allocations import read_allocations
from pyscale.store.records import NODE_FILE
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import read_node
from slurm.configuration import THREADED
from trials import launched, outputs

pytestmark = pytest.mark.slow


@pytest.mark.smoke
def test_a_whole_suite_is_one_job_and_computes_what_one_machine_does(
    runs, of_one_machine, monkeypatch
):
    folder = runs.home / """a b, [c] 'd' "e" $f #g"""
    monkeypatch.setenv("PYSCALE_RUNS_FOLDER", str(folder))
    movie = write_moving_squares(runs.home / "labels.ome.tif")
    before = runs.slurm.known_jobs()
    contacts = ("labels", "--only", "contact", "--set", "seed=3", "--data", movie)
    runs.completed(runs.command(*runs.on_cluster(*contacts, "--workers", "2")))
    (job,) = runs.slurm.known_jobs() - before
    assert runs.jobs == (job,)
    assert outputs(runs.run) == outputs(of_one_machine)
    assert not results_of(runs.run).configurations["flags"].list.contains("retried").any()
    tasks = build_tables(runs.run).tasks
    assert set(tasks["job_id"]) == {job}
    assert set(tasks["node"]) <= set(runs.slurm.nodes)
    windows = tasks.filter(pl.col("verb") == "run")
    assert windows["requested_cpus"].to_list() == [1, 1]
    assert windows["requested_memory_bytes"].to_list() == [2**28] * 2
    assert windows["cache_state"].is_in(["verified-cold", "unsupported"]).all()
    assert (windows["queue_s"] > 0).all()


def test_more_windows_than_workers_run_a_few_at_once_on_all_nodes(runs):
    files = runs.home / "files"
    files.mkdir()
    for number in range(4):
        (files / f"{number}.txt").write_text(f"{number}")
    site = runs.site(options=["--exclusive"])
    # Each has a node for itself.
    site.write_text(site.read_text().replace("cpus = 1", "cpus = 4"))
    step = ("--step", "cp {file} {output}", "--split", "files", "--data", files)
    several = ("--workers", "2", "--set", "chunks_per_worker=2")
    runs.completed(runs.command(*runs.on_cluster(*step, *several, site=site)))
    (trial,) = runs.run.plan.trials
    assert len({*(runs.run.output(trial) / "output").iterdir()}) == 4
    windows = build_tables(runs.run).tasks.filter(pl.col("verb") == "run")
    assert len(windows) == 4
    assert set(windows["node"]) == set(runs.slurm.nodes)
    for moment in windows["start_utc"]:
        running = windows.filter(pl.col("start_utc") <= moment, pl.col("end_utc") > moment)
        assert running.height <= 2
    begun = [launched(runs.trial / task) for task in trial.window_tasks]
    for node in runs.slurm.nodes:
        prepared = read_node(runs.trial, node)
        assert prepared.cache.state == "verified-cold"
        assert {eviction.node for eviction in prepared.cache.evictions} == {node}
        # Written once, and not again after the first task there had started.
        written_s = (runs.trial / NODE_FILE.format(node=node)).stat().st_mtime
        first = min(each.spawn_utc for each in begun if each.node == node)
        assert written_s <= first.timestamp()
    assert len(runs.jobs) == 1


def test_workers_on_cores_of_two_threads_each_have_a_core_and_run_at_once(runs):
    process = runs.start("--workers", "4", site=runs.site("threads"))
    tasks = ("w0", "w1", "w2", "w3")
    # All four stand still together: none waits for a core that another has.
    with runs.in_its_middle(process, *tasks) as launches:
        assert {one.node for one in launches} == {THREADED}
    runs.copied(process, jobs=1)
    (row,) = results_of(runs.run).configurations.rows(named=True)
    assert "workers-in-turn" not in row["flags"]


ONE_PRETENDED_GPU = """
[[override]]
device = "cuda"
gpus = 1
"""


def test_each_window_on_a_gpu_is_a_step_that_has_one_to_itself(runs):
    site = runs.site("gpu", more=ONE_PRETENDED_GPU)
    process = runs.start("--device", "cuda", "--workers", "2", site=site)
    with runs.in_its_middle(process, "w0", "w1") as launches:
        seen = {psutil.Process(one.pid).environ()["CUDA_VISIBLE_DEVICES"] for one in launches}
        assert seen == {"0", "1"}
    runs.copied(process, jobs=1)


CHAIN = """
name = "two"
summary = "Two steps, each of which may take half an hour"
data = "movie"

[stages.first]
command = "cp {input} {output}"
split = "none"
output = "copy.txt"
inputs = { input = "movie" }

[stages.second]
command = "cp {input} {output}"
split = "none"
output = "copy.txt"
inputs = { input = "first" }
"""


def test_a_trial_that_is_not_likely_to_fit_waits_for_the_next_job(runs):
    suite = runs.home / "two.toml"
    suite.write_text(CHAIN)
    # A task may take half an hour, and a job six minutes: one kind of trial is begun in each.
    site = runs.site(more="hold_limit_hours = 0.1\n")
    words = (suite, "--data", runs.data, "--cache", "asis")
    runs.copied(runs.command(*runs.on_cluster(*words, site=site)), jobs=2)
    (ended,) = runs.events("allocation_ended")
    assert "no time for the next trial" in ended.detail


def test_each_n_may_have_a_job_of_its_own_whose_wait_is_known(runs):
    site = runs.site()
    site.write_text('jobs = "each-n"\n' + site.read_text())
    words = [*runs.of_step(site=site)]
    words[words.index("--workers") + 1] = "1,2"
    runs.copied(runs.command(*words), jobs=2)
    allocations = read_allocations(runs.run.path).jobs
    assert [(job.workers, job.cores) for job in allocations] == [(1, 1), (2, 2)]
    waits = [one["waited_s"] for one in runs.status()["allocations"]]
    assert None not in waits
    settings = runs.run.report / "scaling_analysis.md"
    assert "(N = 2)" in settings.read_text()


def test_where_nobody_follows_a_job_submits_the_next_and_the_last_writes_the_report(runs):
    suite = runs.home / "two.toml"
    suite.write_text(CHAIN)
    site = runs.site(more="hold_limit_hours = 0.1\n")
    words = (suite, "--data", runs.data, "--cache", "asis", "--detach")
    runs.say(*runs.on_cluster(*words, site=site))
    runs.wait_for_event("run_finished")
    runs.slurm.wait_for(lambda: runs.living_jobs() == [], "the report was written")
    assert len(runs.jobs) == 2
    assert (runs.run.report / "report.html").exists()


ON_THE_GPU = """
[[override]]
device = "cuda"
options = ["--partition=gpu"]
gpus = 1
"""


def test_stages_of_another_partition_have_a_job_of_their_own_after_those_that_feed_them(runs):
    suite = runs.home / "three.toml"
    third = CHAIN.partition("[stages.second]")[2].replace('"first"', '"second"')
    suite.write_text(
        CHAIN.replace("[stages.second]", '[stages.second]\ndevice = "cuda"')
        + f"\n[stages.third]{third}"
    )
    words = (suite, "--data", runs.data, "--cache", "asis", "--repeats", "2")
    site = runs.site(more=ON_THE_GPU)
    runs.copied(runs.command(*runs.on_cluster(*words, site=site)), jobs=3)
    tasks = build_tables(runs.run).tasks.filter(pl.col("verb") == "run")
    jobs = dict(tasks.select("stage", "job_id").unique().iter_rows())
    assert [jobs[stage] for stage in ("first", "second", "third")] == sorted(set(jobs.values()))
    (node,) = set(tasks.filter(pl.col("stage") == "second")["node"])
    assert node == runs.slurm.nodes[-1]
