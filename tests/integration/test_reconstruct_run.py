"""Reconstructing an image over ranks, from the command line, and what a run of it leaves."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import NamedTuple

import polars as pl
import pytest

from commandline import Answer, answer_here
from forkedtasks import forked_tasks
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.rows import reconstruction_schema
from pyscale_stages.libraries import how_to_install
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.reconstruct.problems import problem_of
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.reconstruction import DENOISER_TOLERANCE, GRADIENT_TOLERANCE
from traineddenoiser import NETWORK, SIGMA, write_weights

ITERATIONS = 3
# The network looks 53 px far: in images of 128 px some pixels see nothing that a cut has changed.
SMALL = NETWORK | {
    "size_px": 128,
    "operators": 4,
    "angles": 16,
    "tile_px": 64,
    "overlap_px": 56,
    "warmup_iterations": 1,
    "iterations": ITERATIONS,
}
COLOUR = {"problem": "colour_deblur", "noise": 0.05, "sigma": SIGMA}
# Of two and of three dimensions; ranks of every problem meet in the tests of the stage.
PROBLEMS = {
    "colour": COLOUR,
    "cones": {"problem": "tomography_3d", "size_px": 32, "tile_px": 16, "overlap_px": 8},
}
SMALLEST_PX = 32
BEYOND_ALL_MEMORY_PX = 40_000
"""A volume of this length is larger than what a process can address."""


def write_suite(folder, **entries):
    """Write a suite of small entries, each with parameters of its own; several sizes are a grid."""
    lines = ['name = "tiny"', 'summary = "A small image, in a moment"', 'data = "phantom"']
    for entry, params in entries.items():
        own = SMALL | params
        sizes = own.pop("size_px")
        lines += [f"[stages.{entry}]", 'stage = "reconstruct"', f"[stages.{entry}.params]"]
        # TOML writes text, numbers and lists as JSON does.
        if not isinstance(sizes, list):
            own["size_px"] = sizes
        lines += [f"{name} = {json.dumps(value)}" for name, value in own.items()]
        if isinstance(sizes, list):
            lines += [f"[stages.{entry}.grid]", f"size_px = {sizes}"]
    path = folder / "tiny.toml"
    path.write_text("\n".join(lines))
    return path


class Left(NamedTuple):
    answer: Answer
    run: RunFolder

    @property
    def said(self):
        return self.answer.text

    @property
    def rows(self):
        return pl.read_parquet(self.run.path / "reconstruction.parquet")

    @property
    def points(self):
        """An entry at one N a row."""
        table = pl.read_csv(self.run.report / "benchmark_reconstruct_points.csv")
        return table.sort("stage", "workers")


def run(folder, suite, *options):
    words = ("run", suite, "--workers", "1,2", "--repeats", "1")
    with forked_tasks():
        answer = answer_here(folder, *words, *options)
    return Left(answer, find_run(folder / "runs", None))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, missing):
    """A working folder, where the engine is installed."""
    if find_spec("deepinv") is None:
        missing("deepinv", how_to_install("reconstruct"))
    return tmp_path_factory.mktemp("reconstructions")


@pytest.fixture(scope="module")
def left(folder):
    """A run of both problems, of which one has a denoiser that denoises."""
    home = folder / "two problems"
    home.mkdir()
    weights = write_weights(home / "trained.pth")
    suite = write_suite(home, **PROBLEMS | {"colour": COLOUR | {"weights": str(weights)}})
    found = run(home, suite)
    assert found.answer.code == 0, found.answer.err
    return found


@pytest.mark.slow
def test_every_iteration_of_every_rank_is_a_row(left):
    rows = left.rows
    assert rows.schema == reconstruction_schema()
    assert set(rows["status"]) == {"done"}
    found = rows.group_by("stage", "workers", "rank").agg(
        pl.col("trial").n_unique(), pl.len(), pl.col("iteration").max()
    )
    assert found.sort("stage", "workers", "rank").rows() == [
        (entry, *of, 1, ITERATIONS, ITERATIONS - 1)
        for entry in sorted(PROBLEMS)
        for of in ((1, 0), (2, 0), (2, 1))
    ]
    together = rows.filter(pl.col("workers") == 2)
    assert set(together["backend"]) == {"gloo"}
    shared = together.group_by("trial", "rank").agg(
        pl.col("tiles_here", "operators_here").first(), pl.col("tiles", "operators").first()
    )
    for whole, here in (("tiles", "tiles_here"), ("operators", "operators_here")):
        assert (2 * shared[here] == shared[whole]).all(), "two ranks share both evenly"


@pytest.mark.slow
def test_ranks_together_agree_with_one_alone(left):
    together = left.points.filter(pl.col("workers") == 2)
    assert together["gate"].to_list() == ["agrees"] * len(PROBLEMS)
    assert together["gate_gradient"].max() <= GRADIENT_TOLERANCE
    flat, cones = together.filter(pl.col("stage") != "cones"), together.filter(stage="cones")
    assert flat["gate_interior_px"].min() > 0
    assert flat["gate_interior"].max() <= DENOISER_TOLERANCE
    assert cones["gate_interior"].null_count() == 1
    assert "too small to hold the network's field of view" in cones["gate_why_not"].item()
    assert left.points.filter(pl.col("workers") == 1)["gate"].null_count() == len(PROBLEMS)


@pytest.mark.slow
def test_images_of_two_ranks_are_compared_with_those_of_one(left):
    checks = pl.read_parquet(left.run.path / "tasks.parquet").filter(task="check")
    # The trial of one rank is what the other is compared with.
    assert checks.select("stage", "workers").sort("stage").rows() == [
        (entry, 2) for entry in sorted(PROBLEMS)
    ]
    assert set(checks["status"]) == {"done"}
    assert checks.filter(stage="colour")["agreement_same"].all()
    deviations = left.rows.filter(pl.col("workers") == 2, pl.col("stage") == "colour")
    assert deviations["deviation_interior"].null_count() == 0
    assert (deviations["deviation_interior"] <= deviations["deviation_border"]).all()


@pytest.mark.slow
def test_a_trained_denoiser_betters_what_was_measured_and_drift_is_told(left):
    problem = problem_of(ReconstructParams(**SMALL | COLOUR), left.run.plan.settings["seed"])
    measured_db = [psnr_db(problem, index) for index in range(problem.operators)]
    colour = left.points.filter(stage="colour")
    assert colour["psnr_db"].min() > max(measured_db)
    alone, together = colour["psnr_db"].to_list()
    assert colour["psnr_drift_db"].to_list() == pytest.approx([0, together - alone])
    assert abs(together - alone) < 1
    assert colour["psnr_interior_drift_db"].null_count() == 0
    assert colour["timing_only"].to_list() == [False, False]
    assert colour["weights"].str.starts_with("trained.pth (").all()
    random = left.points.filter(pl.col("stage") != "colour")
    assert random["timing_only"].all()
    assert "Timing only: the denoiser's weights are random" in left.said


def psnr_db(problem, index):
    error = (problem.measurement(index, "cpu") - problem.image).square().mean()
    return float(-10 * error.log10())


@pytest.fixture(scope="module")
def failing(folder):
    """A run of an image that cannot be cut for two ranks, and of one beyond all memory."""
    home = folder / "failing"
    home.mkdir()
    sizes = {"size_px": [SMALLEST_PX, BEYOND_ALL_MEMORY_PX], "tile_px": SMALLEST_PX}
    suite = write_suite(home, volumes=PROBLEMS["cones"] | sizes)
    return run(home, suite, "--set", "retries=0")


@pytest.mark.slow
def test_what_fails_are_rows_with_errors_and_the_run_goes_on(failing):
    assert failing.answer.code == 1, failing.answer.err
    assert "Traceback" not in failing.answer.err
    points = failing.points.sort("size_px", "workers")
    assert points.select("size_px", "workers", "failed", "exhausted").rows() == [
        *((SMALLEST_PX, 1, 0, False), (SMALLEST_PX, 2, 1, False)),
        *((BEYOND_ALL_MEMORY_PX, 1, 1, True), (BEYOND_ALL_MEMORY_PX, 2, 1, True)),
    ]
    _, uncut, *exhausted = points["error"]
    size = " x ".join([str(SMALLEST_PX)] * 3)
    assert f"on {node_name()}: tile_px {SMALLEST_PX}" in uncut
    assert f"does not fit an image of {size} pixels: set both" in uncut
    for ranks, error in zip((1, 2), exhausted, strict=True):
        assert "memory ran out" in error
        assert f"rank 0 of {ranks} on {node_name()}: lower " in error
    failed = failing.rows.filter(status="failed").sort("stage", "workers", "rank")
    assert failed.select("size_px", "rank", "iteration").rows() == [
        *((SMALLEST_PX, 0, None), (SMALLEST_PX, 1, None)),
        *((BEYOND_ALL_MEMORY_PX, rank, None) for rank in (0, 0, 1)),
    ]
    text = (failing.run.report / "scaling_analysis.md").read_text()
    assert f"Tomography in 3D, {BEYOND_ALL_MEMORY_PX} px at N = 1 failed: memory ran out" in text
