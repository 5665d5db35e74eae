"""Steps of a user's own, and the storage of a node, on the nodes of a real cluster."""

import json
import sys

import polars as pl
import pytest

from pyscale.store.tables import FILES, build_tables

pytestmark = pytest.mark.slow

THREADS = """\
import os, sys
source, out, threads = sys.argv[1:]
assert threads == os.environ["OMP_NUM_THREADS"]
open(out, "w").write(open(source).read())
"""


def test_threads_of_a_step_are_cores_that_it_asks_slurm_for(runs):
    program = runs.home / "program.py"
    program.write_text(THREADS)
    step = f"{sys.executable} -S {program} {{input}} {{output}} {{threads}}"
    process = runs.command(
        *runs.on_cluster("--step", step, "--split", "threads", "--output", "copy.txt"),
        *("--data", runs.data, "--workers", "1,2", "--cache", "asis"),
    )
    runs.copied(process, jobs=1)
    tasks = pl.read_parquet(runs.run.path / FILES["tasks"]).filter(verb="run").sort("workers")
    assert set(tasks["node"]) <= set(runs.slurm.nodes)
    assert tasks["requested_cpus"].to_list() == [1, 2]


def test_an_image_that_knows_nothing_of_pyscale_runs_on_the_nodes(runs, small_image):
    step = ("--step", "cat {input} > {output}", "--shell", "--split", "none")
    process = runs.command(
        *runs.on_cluster(*step, "--output", "copy.txt", "--data", runs.data),
        *("--image", small_image, "--runtime", "apptainer", "--cache", "asis"),
    )
    runs.copied(process, jobs=1)
    spans = pl.read_parquet(runs.run.path / FILES["spans"]).filter(task="w0")
    assert spans.filter(phase="container_start")["wall_s"].min() > 0


SMALL = {
    "particles": 4,
    "particle_side_px": 16,
    "particle_files": 2,
    "movies": 1,
    "movie_frames": 1,
    "movie_side_px": 64,
    "movie_formats": ["mrc"],
    "small_files": 2,
    "readers": [1],
    "modes": ["cold"],
    "repeats": 1,
}


def test_the_storage_of_a_place_is_measured_on_a_node(runs, monkeypatch):
    monkeypatch.setenv("PYSCALE_STAGES", json.dumps({"storage": SMALL}))
    place = runs.home / "to be measured"
    place.mkdir()
    process = runs.command(
        *runs.on_cluster("system", "--only", "storage", "--set", f"path={place}"),
        *("--cpus-per-worker", "1"),
    )
    runs.completed(process)
    tables = build_tables(runs.run)
    assert set(tables.timings["node"]) == set(tables.tasks["node"])
    assert set(tables.tasks["node"]) <= set(runs.slurm.nodes)
    assert tables.timings.height > 0
    assert list(place.iterdir()) == [], "what was written is gone"
