"""OpenSlide and TiffSlide beside our own reader, and all of them in other processes."""

import pickle

import numpy as np
import pytest
import tifffile

from omezarr import write_zarr
from pyscale_stages.errors import BadInput
from pyscale_stages.slides.otherreaders import OpenSlideSlide, TiffSlideSlide
from pyscale_stages.slides.reading import open_slide
from pyscale_stages.slides.tifffile_reader import open_tiled_tiff
from readelsewhere import total, totals_elsewhere
from refusals import refused


def test_tiffslide_reads_the_same_pixels_at_any_place_of_any_level(write_pyramid, picture):
    path = write_pyramid(picture, (1, 2, 4))
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
    with refused(BadInput):
        slide.read(0, 5, 7, 20, 20)
    np.testing.assert_array_equal(slide.read(0, 300, 300, 100, 100), whole)


def test_a_size_of_pixels_that_is_no_number_is_none(make_svs):
    for said in ("", "|MPP = unknown", "|MPP = 0", "|MPP = nan"):
        path = make_svs(mpp=said)
        assert open_tiled_tiff(path).mpp is None
        assert OpenSlideSlide(path).mpp is None


@pytest.fixture
def values():
    """Four frames of two channels of 16 bits."""
    return np.random.default_rng(3).integers(0, 2**16, (4, 2, 70, 83), dtype=np.uint16)


@pytest.fixture(params=["tifffile", "openslide", "tiffslide", "zarr"])
def slide(request, tmp_path, make_svs, values):
    """A slide of each reader."""
    if request.param == "zarr":
        write_zarr(tmp_path / "image.zarr", values[0], "cyx")
        return open_slide(tmp_path / "image.zarr")
    return open_slide(make_svs(), request.param)


def last_region(slide):
    level = slide.levels[0]
    side = min(200, level.height_px, level.width_px)
    return level.height_px - side, level.width_px - side, side, side


def test_a_slide_that_was_read_from_can_be_read_by_forks_and_where_it_was_sent_to(slide):
    plane = slide.planes - 1
    expected = total(slide, last_region(slide), plane)
    assert totals_elsewhere(slide, last_region(slide), "fork", plane) == [expected] * 2
    sent = pickle.dumps(slide)
    assert len(sent) < 20_000
    for here in (slide, pickle.loads(sent)):
        assert total(here, last_region(slide), plane) == expected


@pytest.mark.slow
def test_a_slide_that_was_read_from_can_be_read_by_processes_that_begin_anew(make_svs):
    slide = open_slide(make_svs())
    expected = total(slide, last_region(slide))
    assert totals_elsewhere(slide, last_region(slide), "spawn") == [expected] * 2
