import shutil

import numpy as np
import polars as pl
import pytest
import tifffile

from pyscale_stages.moviewriter import write_movie
from stagetasks import Bench


@pytest.fixture(scope="module")
def output(tmp_path_factory, drifting_movie):
    bench = Bench("register_denoise", tmp_path_factory.mktemp("reference"), denoiser="none")
    return bench.done("run", drifting_movie)


def test_uncorrected_frames_agree_with_no_corrected_ones_and_have_the_whole_drift_left(
    bench, output, drifting_movie, drift_truth
):
    other = bench.done("run", drifting_movie, registration=False, denoiser="wavelet")
    result = bench.checked(output, other, truth=drift_truth)
    found, quality = result.agreement, result.quality
    assert (found.same, found.score) == (False, 0.25)
    assert found.details["corner_distance_max_px"] == pytest.approx(np.hypot(1.75, 6), abs=0.2)
    assert quality["drift_error_px"] == pytest.approx(quality["drift_uncorrected_px"])


def test_wrong_pixels_and_a_wrong_transform_do_not_agree(bench, output):
    other = shutil.copytree(output, bench.folder / "pixels")
    pixels = tifffile.imread(other / "frames.ome.tif")
    pixels[3] = pixels[3][::-1]
    write_movie(other / "frames.ome.tif", pixels, "TYX")
    found = bench.agreement(output, other)
    assert (found.same, found.score) == (False, 0.75)
    other = shutil.copytree(output, bench.folder / "transform")
    table = pl.read_parquet(other / "transforms.parquet")
    moved = pl.col("ty_px") + pl.when(pl.col("frame") == 2).then(1.0).otherwise(0.0)
    table.with_columns(ty_px=moved).write_parquet(other / "transforms.parquet")
    found = bench.agreement(output, other)
    assert (found.same, found.score) == (False, 0.75)


def test_the_drift_that_is_left_is_measured_against_the_truth(bench, output, drift_truth):
    quality = bench.quality(output, drift_truth)
    assert quality["drift_uncorrected_px"] == pytest.approx(
        np.mean([5, np.hypot(3.25, 2.5), np.hypot(1.75, 6)])
    )
    assert quality["drift_error_px"] < 0.15
    assert quality["drift_error_px"] <= quality["drift_error_max_px"] < 0.25
    # A translation moves the corners as the centre.
    assert quality["drift_error_corner_max_px"] == pytest.approx(quality["drift_error_max_px"])


def test_the_truth_is_taken_relative_to_the_reference_frame(accurate, drifting_movie, drift_truth):
    other = accurate.done("run", drifting_movie, reference_frame=3, frames=(1, 3))
    quality = accurate.quality(other, drift_truth)
    assert quality["drift_uncorrected_px"] > 8
    assert quality["drift_error_px"] < 0.2


def test_outputs_of_movies_of_other_size_are_not_compared(bench, output, drifting_pixels, movie_of):
    bench.refused("check", output, bench.done("run", movie_of(drifting_pixels[:, :80])))


def test_where_the_first_frames_count_the_truth_of_the_others_does_not(
    accurate, drifting_movie, drift_truth
):
    first = accurate.done("run", drifting_movie, movie_frames=2)
    quality = accurate.checked(first, truth=drift_truth, movie_frames=2).quality
    assert quality["drift_uncorrected_px"] == pytest.approx(5)
    accurate.refused("check", first, first, truth=drift_truth)


def test_a_folder_without_truth_and_the_truth_of_another_movie_are_refused(
    bench, output, drift_truth
):
    path = drift_truth / "drift.parquet"
    pl.read_parquet(path).head(3).write_parquet(path)
    bench.refused("check", output, output, truth=drift_truth)
    path.unlink()
    bench.refused("check", output, output, truth=drift_truth)
