"""OpenSlide and TiffSlide beside our own reader, and all of them in other processes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.otherreaders import OpenSlideSlide, TiffSlideSlide
from pyscale_stages.slides.reading import open_slide
from pyscale_stages.slides.slide import Slide
from pyscale_stages.slides.tifffile_reader import open_tiled_tiff
from readelsewhere import Region, total, totals_elsewhere, totals_of_pool


def test_tiffslide_reads_the_same_pixels_at_any_place_of_any_level(tmp_path, picture):
    path = tmp_path / "pyramid.tif"
    with tifffile.TiffWriter(path) as tiff:
        for number, step in enumerate((1, 2, 4)):
            tiff.write(
                picture[::step, ::step],
                tile=(128, 128),
                photometric="rgb",
                compression="jpeg",
                subfiletype=1 if number else 0,
                metadata=None,
            )
    ours, theirs = open_tiled_tiff(path), TiffSlideSlide(path)
    assert ours.levels == theirs.levels
    assert ours.levels[2].downsample != round(ours.levels[2].downsample)
    assert (theirs.channels, theirs.dtype) == (3, np.dtype(np.uint8))
    for level in range(3):
        for at in range(0, 60, 7):
            np.testing.assert_array_equal(
                ours.read(level, at, 2 * at, 50, 20), theirs.read(level, at, 2 * at, 50, 20)
            )


@pytest.mark.parametrize("reader", ["openslide", "tiffslide"])
def test_a_damaged_tile_is_said_and_a_later_read_of_another_is_right(make_svs, reader):
    path = make_svs()
    whole = open_tiled_tiff(path).read(0, 300, 300, 100, 100)
    with tifffile.TiffFile(path) as tiff:
        offset = tiff.pages.first.dataoffsets[0]
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"garbage")
    slide = open_slide(path, reader)
    with pytest.raises(BadInput, match=r"slide.svs cannot be read at level 0, row 5, column 7 \("):
        slide.read(0, 5, 7, 20, 20)
    np.testing.assert_array_equal(slide.read(0, 300, 300, 100, 100), whole)


def test_a_size_of_pixels_that_is_no_number_is_none(make_svs):
    for said in ("", "|MPP = unknown", "|MPP = 0", "|MPP = nan"):
        path = make_svs(mpp=said)
        assert open_tiled_tiff(path).mpp is None
        assert OpenSlideSlide(path).mpp is None


def _last(slide: Slide) -> Region:
    level = slide.levels[0]
    return level.height_px - 200, level.width_px - 200, 200, 200


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("reader", ["tifffile", "openslide", "tiffslide"])
def test_a_slide_that_was_read_from_can_be_read_in_other_processes(make_svs, reader, method):
    slide = open_slide(make_svs(), reader)
    expected = total(slide, _last(slide))
    assert totals_of_pool(slide, _last(slide), method) == [expected] * 4
    assert total(slide, _last(slide)) == expected
    assert len(pickle.dumps(slide)) < 20_000


@pytest.mark.parametrize("reader", ["tifffile", "openslide", "tiffslide"])
def test_a_slide_that_two_forked_processes_inherit_is_read_by_both(make_svs, reader):
    slide = open_slide(make_svs(), reader)
    expected = total(slide, _last(slide))
    assert totals_elsewhere(slide, _last(slide), "fork") == [expected] * 2
    assert total(slide, _last(slide)) == expected
