"""Steps of a user's own on the nodes of a real cluster: over frames, threads, and as ranks."""

import sys

import numpy as np
import polars as pl
import pytest
import tifffile

from pyscale.store.tables import SPANS_FILE, TASKS_FILE

pytestmark = pytest.mark.slow

PROGRAM = """\
import os, sys, tifffile
source, out, first, stop, threads = sys.argv[1:]
assert threads == os.environ["OMP_NUM_THREADS"]
tifffile.imwrite(out, tifffile.imread(source)[int(first) : int(stop)], photometric="minisblack")
"""


@pytest.mark.parametrize("split", ["frames", "threads"])
def test_a_step_runs_on_the_nodes_and_is_reported(runs, split):
    program = runs.home / "program.py"
    program.write_text(PROGRAM)
    words = "{input} {output} {first} {stop} {threads}"
    process = runs.command(
        *("run", "--step", f"{sys.executable} {program} {words}", "--split", split),
        *("--data", runs.movie, "--workers", "1,2", "--repeats", "1", "--keep-outputs", "all"),
        *("--executor", "slurm", "--site", runs.site()),
    )
    runs.completed(process)
    run = runs.run
    outputs = [run.output(run.plan.trial(f"step-n{n}-b1")) / "output.tif" for n in (1, 2)]
    for output in outputs:
        assert np.array_equal(tifffile.imread(output), tifffile.imread(runs.movie))
    tasks = pl.read_parquet(run.path / TASKS_FILE).filter(verb="run", workers=2)
    assert set(tasks["node"]) <= set(runs.slurm.nodes)
    expected = {"frames": [1, 1], "threads": [2]}[split]
    assert tasks["requested_cpus"].to_list() == expected


def test_an_image_that_knows_nothing_of_pyscale_runs_on_the_nodes(runs, small_image):
    process = runs.command(
        *("run", "--step", "cat {input} > {output}", "--shell", "--split", "none"),
        *("--output", "copy.tif", "--image", small_image, "--runtime", "apptainer"),
        *("--data", runs.movie, "--workers", "1,2", "--repeats", "1", "--keep-outputs", "all"),
        *("--executor", "slurm", "--site", runs.site()),
    )
    runs.completed(process)
    for n in (1, 2):
        output = runs.run.output(runs.run.plan.trial(f"step-n{n}-b1")) / "copy.tif"
        assert output.read_bytes() == runs.movie.read_bytes()
    spans = pl.read_parquet(runs.run.path / SPANS_FILE).filter(task="w0")
    assert spans.filter(phase="container_start")["wall_s"].min() > 0


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


@pytest.mark.parametrize("allocation", ["hold", "each"])
def test_ranks_of_a_step_on_two_nodes_find_each_other(runs, allocation):
    program = runs.home / "rank.py"
    program.write_text(RANK)
    process = runs.command(
        *("run", "--step", f"{sys.executable} {program} {{input}} {{output}}", "--split", "ranks"),
        *("--output", "told.txt", "--check", "none", "--data", runs.movie, "--workers", "3"),
        *("--repeats", "1", "--keep-outputs", "all", "--allocation", allocation),
        *("--executor", "slurm", "--site", runs.site()),
    )
    runs.completed(process)
    output = runs.run.output(runs.run.plan.trial("step-n3-b1")) / "told.txt"
    places = output.read_text().splitlines()
    nodes = [place.split()[0] for place in places]
    assert len(places) == 3
    assert set(nodes) == set(runs.slurm.nodes)
    assert sorted(place.split()[1] for place in places) == ["0", "0", "1"]
