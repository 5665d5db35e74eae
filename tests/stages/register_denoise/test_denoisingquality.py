import shutil
from pathlib import Path

import polars as pl
import pytest
import tifffile

from pyscale_stages.moviewriter import write_movie
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie
from refusals import assert_held
from stagetasks import Bench

MOVIE = SynthParams(
    seed=3, frames=3, height_px=128, width_px=128, cells=12, radius_px=8, signal_photons=60
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_synthetic_movie(tmp_path_factory.mktemp("synth") / "m", MOVIE)


@pytest.fixture
def synthetic(tmp_path, written):
    """Folder of a noisy movie of two channels, which a test may change."""
    return shutil.copytree(written, tmp_path / "synthetic")


@pytest.fixture
def judged(tmp_path, synthetic):
    """Denoise the movie, without registration unless it is asked for, and check it by the truth."""
    bench = Bench("register_denoise", tmp_path, registration=False)

    def run_and_check(**options):
        out = bench.done("run", synthetic / "movie.ome.tif", **options)
        return bench.run("check", out, out, truth=synthetic / "truth" / "camera")

    return run_and_check


def test_a_denoised_movie_is_nearer_to_the_truth_and_as_bright(judged):
    result = judged()
    assert result.quality["psnr_gain_db"] > 4
    assert abs(result.quality["bias_brightest"]) < 0.02
    assert not result.warnings


def test_frames_that_registration_moved_do_not_count(judged):
    reference = judged(frames=(0, 1)).quality
    assert judged(registration=True).quality.items() > reference.items()


def test_without_denoising_or_the_noise_of_the_truth_no_gain_is_told(judged, synthetic):
    assert "psnr_gain_db" not in judged(registration=True, denoiser="none").quality
    (synthetic / "truth" / "camera" / "noise.parquet").unlink()
    result = judged()
    assert result.error is None
    assert "psnr_gain_db" not in result.quality


def _cut(path):
    path.write_bytes(path.read_bytes()[:200])


def _of_another_size(path):
    write_movie(path, tifffile.imread(path)[:, :64], "TYX")


def _without_a_column(path):
    pl.read_parquet(path).drop("frame").write_parquet(path)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("noise.parquet", _cut),
        ("noise.parquet", _without_a_column),
        ("clean_ch1.ome.tif", Path.unlink),
        ("clean_ch1.ome.tif", _cut),
        ("clean_ch0.ome.tif", _of_another_size),
    ],
)
def test_a_damaged_truth_or_that_of_another_movie_is_refused(judged, synthetic, file, change):
    change(synthetic / "truth" / "camera" / file)
    error = judged(frames=(0, 1)).error
    assert error.exit_code == 2
    assert_held(error.message)
