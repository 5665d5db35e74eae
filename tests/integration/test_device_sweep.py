"""The device sweep, for real, where there is no GPU: sizes by threads, and what comes of it.

Two threads against one are compared as a GPU is with a CPU: the same suite with another `versus`.
"""

import shutil

import polars as pl
import pytest

from commandline import answer_here
from forkedtasks import forked_tasks
from pyscale.data.registry import load_registry
from pyscale.evaluation.runpictures import pictures_of
from pyscale.planning.suite import load_suite
from pyscale.resources import shipped as shipped_folder
from pyscale.store.folder import RunFolder
from pyscale_stages.synth.movie import write_synthetic_movie

pytestmark = pytest.mark.slow

SUITE = """
name = "threads"
summary = "Segmentation with one thread and two, over sizes"
frames_per_worker = 1
versus = "threads"
against = "length_px"

[settings]
workers = "1"
repeats = 1
cache = "warm"

[stages.segment]
inputs = { frames = "movie" }
truth = "specimen"
params = { calls = 2 }
grid = { length_px = [96, "full"], threads = [1, 2] }
"""
SIZES_PX = (96, 224)
POINTS = {f"segment_{size}_{n}threads" for size in ("96px", "full") for n in (1, 2)}


def measured(folder, *arguments):
    with forked_tasks():
        done = answer_here(folder, *arguments, PYSCALE_DATA_FOLDER=folder / "data")
    assert done.code == 0, done.err
    return done.out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "threads.toml").write_text(SUITE)
    measured(folder, "data", "synth", "cells", "--frames", "1", "--size", "224", "--cells", "30")
    return folder


@pytest.fixture(scope="module")
def run(folder):
    measured(folder, "run", "threads.toml", "--data", "cells")
    (path,) = (folder / "runs").iterdir()
    return RunFolder(path)


@pytest.fixture(scope="module")
def points(run):
    return pl.read_csv(run.report / "benchmark_points.csv")


def test_every_point_of_the_grid_is_measured_and_none_is_dropped(points):
    assert set(points["stage"]) == POINTS
    assert points["trials"].to_list() == [1] * len(POINTS)
    assert sorted(set(points["length_px"])) == list(SIZES_PX)
    assert points["steady_s"].min() > 0


def test_the_calls_of_every_process_are_kept_apart(run):
    calls = pl.read_parquet(run.path / "calls.parquet", glob=False)
    whole = calls.filter(pl.col("part").is_null())
    assert whole.height == len(POINTS) * 2
    assert set(whole["call"]) == {0, 1}
    built = calls.filter(part="build")
    assert set(built["call"]) == {0}, "the model is built before the first call alone"
    assert built.height == len(POINTS)


def test_more_threads_are_compared_with_one_at_every_size(run):
    ratios = pl.read_csv(run.report / "benchmark_ratios.csv").filter(measure="steady")
    assert sorted(ratios["length_px"]) == list(SIZES_PX)
    assert ratios["ratio"].min() > 0


def test_masks_of_both_are_set_beside_each_other_without_a_verdict(points):
    beside = points.filter(threads=2)
    assert beside["beside_ap_iou50"].min() > 0.9
    assert beside["beside_objects"].null_count() == 0
    assert points.filter(threads=1)["beside_ap_iou50"].null_count() == len(SIZES_PX)


def test_crops_are_compared_with_the_same_crop_of_the_truth(points):
    assert points["quality"].null_count() == 0
    assert points.filter(length_px=224)["quality"].min() > 0.7


def test_crops_are_drawn_over_the_frame_and_outlines_over_the_crop(run):
    strip = pictures_of(run)
    assert [one.title for one in strip.pictures] == ["Crops, side in px", "Outlines, N = 1"]
    assert "crops of 96 px in the middle of a frame of 224 x 224 px" in strip.pictures[0].alt
    for other in run.path.glob("tasks/segment_*/w0/out"):
        shutil.rmtree(other)
    assert [one.title for one in pictures_of(run).pictures] == ["Crops, side in px"]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The shipped suite on a frame of its own data, as someone without a GPU would begin."""
    folder = tmp_path_factory.mktemp("device")
    data = load_registry(shipped_folder("config")).get(load_suite("device").settings["data"])
    # Each worker takes one frame, and there is one.
    write_synthetic_movie(folder / "cells", data.synth.model_copy(update={"frames": 1}))
    sizes = ("--grid", "length_px=224", "--device", "cpu", "--repeats", "1")
    said = measured(folder, "run", "device", "--data", folder / "cells", *sizes)
    (path,) = (folder / "runs").iterdir()
    return RunFolder(path), said


def test_the_shipped_suite_runs_on_a_frame_of_its_own_data_without_a_gpu(shipped):
    run, said = shipped
    points = pl.read_csv(run.report / "benchmark_points.csv")
    assert sorted(points["length_px"]) == [224]
    assert points["quality"].min() > 0.7
    assert "224" in said


def test_the_parts_of_a_call_sum_to_it(run):
    calls = pl.read_parquet(run.path / "calls.parquet", glob=False)
    key = ["trial", "task", "frame", "call"]
    whole = calls.filter(pl.col("part").is_null()).select(*key, "wall_s")
    parts = calls.filter(pl.col("part").is_not_null() & (pl.col("part") != "build"))
    summed = parts.group_by(key).agg(pl.col("wall_s").sum().alias("parts_s"))
    share = whole.join(summed, on=key).select(pl.col("parts_s") / pl.col("wall_s")).to_series()
    assert len(share) == whole.height
    assert share.max() <= 1
    # Not a time: what no part covers is code between the hooks, whatever the machine's pace.
    assert share.median() > 0.9
