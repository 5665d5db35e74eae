"""The stage on real microscopy, and on a synthetic movie with its truth."""

from itertools import pairwise

import numpy as np
import pytest
import tifffile

from movingnuclei import write_moving_nuclei
from pyscale_stages.commandline import main
from pyscale_stages.synth.movie import write_synthetic_movie
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.truth.matching import match_cells
from stagetasks import Bench


def consecutive_correlation(frames):
    """Mean correlation of neighbouring frames, inside a margin that drift does not reach."""
    inner = frames[:, 24:-24, 24:-24].astype(float).reshape(len(frames), -1)
    return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairwise(inner)]))


def test_the_drift_of_real_pc12_cells_goes_away(accurate, shared_data):
    movie = shared_data / "pc12-registration" / "pc12-unreg.tif"
    result = accurate.run("run", movie)
    before = consecutive_correlation(tifffile.imread(movie))
    after = consecutive_correlation(tifffile.imread(accurate.folder / "out" / "frames.ome.tif"))
    assert result.warnings == ()
    assert before < 0.85
    assert after > 0.95


@pytest.mark.slow
def test_real_cells_that_migrate_far_from_the_reference_are_left_where_they_are(
    accurate, shared_data
):
    movie = shared_data / "cancer-migration" / "cancer_cell_migration_crop.tif"
    result = accurate.run("run", movie, frames=(0, 24))
    (warning,) = result.warnings
    assert "registration to the reference frame 0 found an implausible drift" in warning
    before = consecutive_correlation(tifffile.imread(movie)[:24])
    after = consecutive_correlation(tifffile.imread(accurate.folder / "out" / "frames.ome.tif"))
    assert after > before - 0.02


@pytest.mark.slow
def test_the_drift_of_a_synthetic_movie_is_found_to_tenths_of_a_pixel(tmp_path):
    # Adherent cells: where cells wander, their mean motion cannot be told from drift.
    params = SynthParams(
        frames=6, height_px=160, width_px=160, cells=25, cell_types=1, speed_px=0, division_rate=0
    )
    folder = write_synthetic_movie(tmp_path / "synth", params)
    bench = Bench("register_denoise", tmp_path)
    out = bench.done("run", folder / "movie.ome.tif")
    quality = bench.quality(out, folder / "truth" / "camera")
    assert quality["drift_uncorrected_px"] > 0.3
    assert quality["drift_error_px"] < 0.2
    assert quality["drift_error_max_px"] < 0.4


@pytest.mark.slow
def test_cells_of_real_frames_that_were_moved_are_found_as_where_the_camera_saw_them(
    tmp_path, accurate, shared_data
):
    # Two dozen nuclei, which are one tile of the network.
    part = slice(60, 304), slice(130, 374)
    movie = write_moving_nuclei(tmp_path, shared_data, part, frames=2) / "movie.ome.tif"
    moved = accurate.done("run", movie) / "frames.ome.tif"
    precision = {}
    for coordinates, frames in (("camera", movie), ("specimen", moved)):
        labels = tmp_path / coordinates
        assert main(["segment", "run", "--input", str(frames), "--output", str(labels)], 0.0) == 0
        found = tifffile.imread(labels / "labels.ome.tif")
        true = tifffile.imread(movie.with_name("truth") / coordinates / "labels_ch0.ome.tif")
        pairs = zip(true, found, strict=True)
        precision[coordinates] = [match_cells(*pair).average_precision for pair in pairs]

    assert min(precision["camera"]) > 0.7
    lost = np.subtract(precision["camera"], precision["specimen"])
    assert lost.max() <= 0.03
