from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import tifffile

from pyscale_stages.segment.calls import Doubts
from pyscale_stages.segment.params import SegmentParams


@dataclass
class Trained:
    """All that is asked of a model here."""

    trained_diameter_px: float | None = 10.0
    tile_px: int = 224
    estimated_diameter_px: float | None = None

    def segment(self, frame, params, limits=None):
        raise NotImplementedError


def squares(*sides_px, gap_px=5):
    labels = np.zeros((40, sum(sides_px) + gap_px * (len(sides_px) + 1)), np.uint16)
    left = gap_px
    for number, side in enumerate(sides_px, 1):
        labels[2 : 2 + side, left : left + side] = number
        left += side + gap_px
    return labels


def codes(*frames, model=None, **params):
    doubts = Doubts(SegmentParams.model_validate(params))
    for labels, frame in frames:
        doubts.add(frame, labels, model or Trained())
    return {warning.code for warning in doubts.warnings() if warning.is_said}


def seen(labels):
    return labels, 100 + 900 * (labels > 0).astype(np.float32)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (seen(squares(9, 9, 9)), set()),
        (seen(squares(9, 3, 30)), set()),
        (seen(squares(3, 3, 9)), {"small-objects"}),
        (seen(squares(9, 30, 30)), {"large-objects"}),
        (seen(squares()), {"no-objects"}),
        (seen(squares(9, 9, 9, gap_px=0)), {"touching-objects"}),
        ((squares(9), seen(squares(9))[1][::-1]), {"bright-outside"}),
    ],
)
def test_what_a_model_was_not_made_for_is_named(frame, expected):
    assert codes(frame) == expected


def test_a_diameter_of_ones_own_and_models_of_any_size_or_of_touching_cells_are_believed():
    small = seen(squares(3, 3, 3))
    assert codes(small, diameter_px=3) == set()
    assert codes(small, estimate_diameter=True) == set()
    assert codes(small, model=Trained(None)) == set()
    touching = seen(squares(9, 9, 9, gap_px=0))
    doubts = Doubts(SegmentParams(model="cyto3"))
    doubts.add(*reversed(touching), Trained())
    assert not [one for one in doubts.warnings() if one.is_said]


def test_windows_are_judged_together():
    few, many = seen(squares(4)), seen(squares(9, 9, 9))
    alone = Doubts(SegmentParams()), Doubts(SegmentParams())
    both = Doubts(SegmentParams())
    for own, (labels, frame) in zip(alone, (few, many), strict=True):
        own.add(frame, labels, Trained())
        both.add(frame, labels, Trained())
    first, second = (list(own.warnings()) for own in alone)
    assert [one + other for one, other in zip(first, second, strict=True)] == list(both.warnings())
    assert {one.code for one in first if one.is_said} == {"small-objects"}
    assert not [one for one in both.warnings() if one.is_said]


def warned(bench, movie):
    """Codes of what segmenting a movie with the embedded model warns of."""
    result = bench.run("run", movie)
    assert result.error is None, result.error
    found = {warning.code for warning in result.warned if warning.is_said}
    return found - {"less-than-a-tile"}


@pytest.mark.slow
@pytest.mark.usefixtures("kept_model")
def test_real_nuclei_raise_no_doubt_but_five_times_as_large_do(bench, tmp_path, shared_data):
    nuclei = tifffile.imread(shared_data / "stardist-nuclei" / "img2d.tif")
    # Both fit into a tile of the network.
    tifffile.imwrite(tmp_path / "nuclei.tif", nuclei[60:284, 130:354])
    assert warned(bench, tmp_path / "nuclei.tif") == set()
    large = nuclei[100:144, 100:144].repeat(5, axis=0).repeat(5, axis=1)
    tifffile.imwrite(tmp_path / "large.tif", large)
    assert "bright-outside" in warned(bench, tmp_path / "large.tif")
