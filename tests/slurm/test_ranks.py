"""Ranks on the nodes of a real cluster meet by one step of the run's job."""

import os
import signal
import sys

import polars as pl
import pytest

from pyscale.store.taskfiles import read_task
from pyscale_stages.loading import Loading
from pyscale_stages.slides.synthetic import SlidesParams, write_slides
from trials import error_of

pytestmark = pytest.mark.slow

RANK = """\
import os, sys
from multiprocessing.connection import Client, Listener
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
assert os.environ["SLURM_PROCID"] == str(rank)
here = f"{os.environ['SLURMD_NODENAME']} {os.environ['LOCAL_RANK']}"
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    with Listener(place, backlog=ranks) as others:
        told = sorted(others.accept().recv() for _ in range(1, ranks))
    open(sys.argv[2], "w").write("\\n".join([here, *told]))
else:
    while True:
        try:
            there = Client(place)
            break
        except ConnectionRefusedError:
            pass
    there.send(here)
"""
BATCHES = 4
SUITE = f"""
name = "tiny"
summary = "Some patches, in a moment"
data = "slides"

[stages.loader]
inputs = {{ slides = "slides" }}
threads = "all"

[stages.loader.params]
num_workers = 1
batch_size = 4
batches = {BATCHES}
warmup_batches = 1
patch_px = 64
start_method = "fork"
"""


def places(told):
    """Node and number on it of each rank of the program above, by what the first one wrote."""
    return [tuple(line.split()) for line in told.read_text().splitlines()]


def test_ranks_of_a_step_on_two_nodes_find_each_other_and_one_that_is_killed_is_named(runs):
    program = runs.home / "rank.py"
    program.write_text(RANK)
    step = f"{sys.executable} {program} {{input}} {{output}}"
    process = runs.command(
        *runs.on_cluster("--step", step, "--split", "ranks", "--output", "told.txt"),
        *("--check", "none", "--data", runs.data, "--workers", "3", "--cache", "asis"),
    )
    with runs.in_its_middle(process, "w0", "w2") as (first, last):
        assert {first.node, last.node} == set(runs.slurm.nodes)
        os.kill(last.pid, signal.SIGKILL)
    runs.completed(process)
    (failure,) = runs.events("trial_failed")
    assert f"w2: the process on {last.node} was killed by SIGKILL" in failure.detail
    assert runs.set_aside() == ["step-n3-b1.failed-1"]
    for task in ("w0", "w1"):
        other = error_of(runs.run.path / "tasks" / "step-n3-b1.failed-1" / task)
        assert other.kind == "LostRank"

    (trial,) = runs.run.plan.trials
    found = places(runs.run.output(trial) / "told.txt")
    assert {node for node, _ in found} == set(runs.slurm.nodes)
    assert sorted(local for _, local in found) == ["0", "0", "1"]
    assert len(runs.jobs) == 1


def test_ranks_that_load_from_two_nodes_are_timed_in_step(runs):
    (runs.home / "tiny.toml").write_text(SUITE)
    slides = runs.home / "my slides, [new]"
    write_slides(slides, SlidesParams(slides=3, height_px=512, width_px=512))
    site = runs.site(memory_gib=1, options=["--ntasks-per-node=1"])
    # The process of a rank, and its worker.
    site.write_text(site.read_text().replace("cpus = 1", "cpus = 3"))
    words = ("tiny.toml", "--data", slides, "--workers", "2")
    runs.completed(runs.command(*runs.on_cluster(*words, site=site)))
    (trial,) = runs.run.plan.trials
    results = [read_task(runs.run.task(trial, name)).result for name in trial.window_tasks]
    loading = [found for result in results if (found := result.of(Loading)[0])]
    in_step = [each.together for each in loading if each.together]
    assert [len(window.steps_s) for window in in_step] == [BATCHES, BATCHES]
    assert [each.slides for each in loading] == [2, 1]
    assert len({each.checksum for each in loading}) == 2
    table = pl.read_parquet(runs.run.path / "loading.parquet").sort("rank")
    assert table["node"].to_list() == list(runs.slurm.nodes)
    assert set(table["cache_state"]) == {"verified-cold"}
    points = pl.read_csv(runs.run.report / "benchmark_loader.csv")
    assert points.select("workers", "failed", "oversubscribed").rows() == [(2, 0, False)]
    assert len(runs.jobs) == 1
