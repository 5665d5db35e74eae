from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import tifffile

from pyscale_stages.contract import TaskResult
from pyscale_stages.movie import Pixels

RunStage = Callable[..., TaskResult]
ACCURATE = {"denoiser": "none"}


@pytest.fixture
def output(tmp_path: Path, stage: RunStage, drifting_movie: Path) -> Path:
    folder = tmp_path / "reference"
    stage("run", drifting_movie, output=folder, params=ACCURATE)
    return folder


def test_another_seed_agrees_within_the_tolerance_but_not_to_the_bit(
    tmp_path: Path, stage: RunStage, output: Path, drifting_movie: Path
) -> None:
    other = tmp_path / "other"
    stage("run", drifting_movie, output=other, params=ACCURATE, options=("--seed", "5"))
    found = stage("check", output, other).agreement
    assert found is not None
    assert found.same
    assert 0 < found.details["corner_distance_max_px"] < 0.3
    assert found.details["identical_frame_share"] == 0.25


def test_uncorrected_frames_do_not_agree_with_corrected_ones(
    tmp_path: Path, stage: RunStage, output: Path, drifting_movie: Path
) -> None:
    other = tmp_path / "other"
    stage("run", drifting_movie, output=other, params={"registration": False})
    found = stage("check", output, other).agreement
    assert found is not None
    assert not found.same
    assert found.score == 0.25
    assert found.details["corner_distance_max_px"] == pytest.approx(np.hypot(1.75, 6), abs=0.2)


def test_right_transforms_with_wrong_pixels_do_not_agree(
    tmp_path: Path, stage: RunStage, output: Path, drifting_movie: Path
) -> None:
    other = tmp_path / "other"
    stage("run", drifting_movie, output=other, params=ACCURATE)
    pixels = tifffile.imread(other / "frames.ome.tif")
    pixels[3] = pixels[3][::-1]
    tifffile.imwrite(other / "frames.ome.tif", pixels, ome=True, metadata={"axes": "TYX"})
    found = stage("check", output, other).agreement
    assert found is not None
    assert (found.same, found.score) == (False, 0.75)


def test_the_drift_that_is_left_is_measured_against_the_truth(
    stage: RunStage, output: Path, drift_truth: Path
) -> None:
    quality = stage("check", output, output, options=("--truth", str(drift_truth))).quality
    assert quality["drift_uncorrected_px"] == pytest.approx(
        np.mean([5, np.hypot(3.25, 2.5), np.hypot(1.75, 6)])
    )
    assert quality["drift_error_px"] < 0.15
    assert quality["drift_error_px"] <= quality["drift_error_max_px"] < 0.25
    # A translation moves the corners as the centre.
    assert quality["drift_error_corner_max_px"] == pytest.approx(quality["drift_error_max_px"])


def test_uncorrected_frames_have_the_whole_drift_left(
    tmp_path: Path, stage: RunStage, output: Path, drifting_movie: Path, drift_truth: Path
) -> None:
    other = tmp_path / "other"
    stage("run", drifting_movie, output=other, params={"registration": False})
    quality = stage("check", output, other, options=("--truth", str(drift_truth))).quality
    assert quality["drift_error_px"] == pytest.approx(quality["drift_uncorrected_px"])


def test_the_truth_is_taken_relative_to_the_reference_frame(
    tmp_path: Path, stage: RunStage, output: Path, drifting_movie: Path, drift_truth: Path
) -> None:
    other = tmp_path / "other"
    params = ACCURATE | {"reference_frame": 3}
    window = ("--frames", "1:3")
    stage("run", drifting_movie, output=other, params=params, options=window)
    quality = stage("check", other, other, options=("--truth", str(drift_truth))).quality
    assert quality["drift_uncorrected_px"] > 8
    assert quality["drift_error_px"] < 0.2


def test_outputs_of_movies_of_other_size_are_not_compared(
    tmp_path: Path, stage: RunStage, output: Path, drifting_pixels: Pixels
) -> None:
    movie, other = tmp_path / "small.ome.tif", tmp_path / "other"
    tifffile.imwrite(movie, drifting_pixels[:, :80], ome=True, metadata={"axes": "TYX"})
    stage("run", movie, output=other)
    error = stage("check", output, other).error
    assert error is not None
    assert "(4, 1, 96, 128)" in error.message
    assert "check two outputs of one movie" in error.message


def test_a_folder_without_truth_is_named(tmp_path: Path, stage: RunStage, output: Path) -> None:
    error = stage("check", output, output, options=("--truth", str(tmp_path))).error
    assert error is not None
    assert error.exit_code == 2
    assert "has no readable drift.parquet" in error.message


def test_where_the_first_frames_count_the_truth_of_the_others_does_not(
    tmp_path: Path, stage: RunStage, drifting_movie: Path, drift_truth: Path
) -> None:
    first, counted = tmp_path / "first", ("--movie-frames", "2")
    stage("run", drifting_movie, output=first, params=ACCURATE, options=counted)
    truth = ("--truth", str(drift_truth))
    quality = stage("check", first, first, options=(*truth, *counted)).quality
    assert quality["drift_uncorrected_px"] == pytest.approx(5)
    error = stage("check", first, first, options=truth).error
    assert error is not None
    assert "does not hold the frames 0:2 of the movie" in error.message


def test_the_truth_of_another_movie_is_refused(
    stage: RunStage, output: Path, drift_truth: Path
) -> None:
    path = drift_truth / "drift.parquet"
    pl.read_parquet(path).head(3).write_parquet(path)
    error = stage("check", output, output, options=("--truth", str(drift_truth))).error
    assert error is not None
    assert "does not hold the frames 0:4 of the movie" in error.message
