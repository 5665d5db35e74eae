"""Steps of a user's own on the nodes of a real cluster: over frames, and as threads of one task."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest
import tifffile

from pyscale.store.tables import TASKS_FILE

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
