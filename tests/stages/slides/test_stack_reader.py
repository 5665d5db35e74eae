"""Microscopy stacks as slides of one level."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.slides import otherreaders
from pyscale_stages.slides.otherreaders import StackSlide
from pyscale_stages.slides.reading import open_slide
from readelsewhere import total, totals_elsewhere

Values = npt.NDArray[np.uint16]
REGION = (3, 4, 60, 60)


@pytest.fixture
def values() -> Values:
    """Four frames of two channels of 16 bits."""
    return np.random.default_rng(3).integers(0, 2**16, (4, 2, 70, 83), dtype=np.uint16)


@pytest.fixture
def stack(tmp_path: Path, values: Values) -> Path:
    """The same as OME-TIFF."""
    path = tmp_path / "movie.ome.tif"
    tifffile.imwrite(
        path,
        values,
        photometric="minisblack",
        metadata={"axes": "TCYX", "PhysicalSizeX": 0.65, "PhysicalSizeXUnit": "µm"},
    )
    return path


def test_frames_of_a_stack_are_planes_with_their_values(stack, values):
    slide = open_slide(stack)
    assert isinstance(slide, StackSlide)
    assert (slide.planes, slide.channels, slide.dtype) == (4, 2, np.dtype(np.uint16))
    assert (len(slide.levels), slide.mpp) == (1, 0.65)
    for plane in (2, 0, 3, 2, 1):
        found = slide.read(0, 11, 20, 40, 63, plane=plane)
        np.testing.assert_array_equal(
            found, np.moveaxis(values[plane], 0, -1)[11:51, 20:83], strict=True
        )
        found[:] = 0
    with pytest.raises(BadInput, match="has no plane 4: it has 4, from 0"):
        slide.read(0, 0, 0, 9, 9, plane=4)


def test_frames_are_kept_within_bounds(stack, values, monkeypatch):
    monkeypatch.setattr(otherreaders, "KEPT_BYTES", 2 * values[0].nbytes)
    slide = StackSlide(stack)
    for plane in (0, 1, 0, 2):
        slide.read(0, 0, 0, 9, 9, plane=plane)
    assert list(slide._kept) == [0, 2]
    monkeypatch.setattr(otherreaders, "KEPT_BYTES", 1)
    slide.read(0, 0, 0, 9, 9, plane=3)
    assert list(slide._kept) == [3]
    slide.close()
    assert not slide._kept
    assert slide.read(0, 0, 0, 9, 9, plane=3).any()


def test_pixel_sizes_of_imagej_are_read(tmp_path, values):
    tifffile.imwrite(
        tmp_path / "ij.tif",
        values[:, 0],
        imagej=True,
        resolution=(4, 4),
        metadata={"axes": "TYX", "unit": "um"},
    )
    assert open_slide(tmp_path / "ij.tif").mpp == 0.25
    tifffile.imwrite(tmp_path / "plain.tif", values[:, 0], photometric="minisblack")
    assert open_slide(tmp_path / "plain.tif").mpp is None


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_stack_that_was_read_from_can_be_read_in_other_processes(stack, method):
    slide = open_slide(stack)
    expected = total(slide, REGION, plane=2)
    assert totals_elsewhere(slide, REGION, method, plane=2) == [expected] * 2
