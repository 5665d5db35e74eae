"""The stage on real microscopy, and on a synthetic movie with its truth."""

from itertools import pairwise

import numpy as np
import pytest
import tifffile


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
    assert "registration found an implausible drift" in warning
    before = consecutive_correlation(tifffile.imread(movie)[:24])
    after = consecutive_correlation(tifffile.imread(accurate.folder / "out" / "frames.ome.tif"))
    assert after > before - 0.02
