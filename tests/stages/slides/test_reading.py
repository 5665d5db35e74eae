"""Which reader a slide is given to, and what is said of files that are no slides."""

import os

import cv2
import numpy as np
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.otherreaders import OpenSlideSlide
from pyscale_stages.slides.reading import READERS, check_readable, open_slide, slide_files
from pyscale_stages.slides.tifffile_reader import TiledTiff
from refusals import refused


def test_aperio_slides_and_tiled_tiff_are_read_by_our_own_reader_and_others_are_refused(
    make_svs, write_tiled, tmp_path, picture
):
    assert isinstance(open_slide(make_svs()), TiledTiff)
    assert isinstance(open_slide(write_tiled("tiled.TIFF", picture)), TiledTiff)
    tifffile.imwrite(tmp_path / "stack.tif", picture[..., 0])
    with refused(BadInput):
        open_slide(tmp_path / "stack.tif")


def test_a_slide_without_a_pyramid_is_read_at_its_only_level(make_svs):
    slide = open_slide(make_svs(steps=(1,)))
    (level,) = slide.levels
    assert (level.height_px, level.width_px, level.downsample) == (603, 751, 1)
    assert slide.read(0, 500, 700, 103, 51).shape == (103, 51, 3)


def test_a_slide_with_an_alpha_channel_goes_to_openslide_and_loses_it(write_tiled, picture):
    pixels = np.dstack([picture, np.full((*picture.shape[:2], 1), 255, np.uint8)])
    slide = open_slide(write_tiled("alpha.tif", pixels, extrasamples=["unassalpha"]))
    assert isinstance(slide, OpenSlideSlide)
    np.testing.assert_array_equal(slide.read(0, 9, 99, 200, 100), picture[9:209, 99:199])


def test_aperio_slides_in_ycbcr_of_jpeg_2000_go_to_openslide_for_their_colours(make_svs, picture):
    ycbcr = cv2.cvtColor(picture, cv2.COLOR_RGB2YCrCb)[..., [0, 2, 1]]
    as_written = {"compression": 33003, "compressionargs": None, "subsampling": None}
    slide = open_slide(make_svs(pixels=ycbcr, steps=(1,), **as_written))
    assert isinstance(slide, OpenSlideSlide)
    found = slide.read(0, 0, 0, 600, 700).astype(int)
    assert np.abs(found - picture[:600, :700]).max() <= 2


def test_a_slide_with_tiles_that_were_never_written_goes_to_openslide(gap):
    slide = open_slide(gap)
    assert isinstance(slide, OpenSlideSlide)
    assert (slide.read(0, 200, 0, 9, 9) == 0).all()
    assert (slide.read_on_glass(0, 200, 0, 9, 9) == 255).all()
    assert (slide.read_on_glass(0, 0, 0, 9, 9) == 10).all()


@pytest.mark.parametrize("reader", ["auto", "tifffile", "openslide", "tiffslide"])
def test_a_text_file_named_like_a_slide_is_said_to_be_none(tmp_path, reader):
    path = tmp_path / "notes.svs"
    path.write_text("these are no pixels\n" * 100)
    with refused(BadInput):
        open_slide(path, reader)


@pytest.mark.parametrize("reader", READERS)
def test_an_empty_file_and_none_at_all_are_said_in_a_sentence(tmp_path, reader):
    path = tmp_path / "slide.svs"
    with refused(BadInput):
        open_slide(path, reader)
    path.touch()
    with refused(BadInput):
        open_slide(path, reader)


def test_an_unknown_reader_is_named_with_those_there_are(make_svs):
    with refused(BadInput):
        open_slide(make_svs(), "magic")


@pytest.mark.parametrize("reader", ["tifffile", "openslide", "tiffslide"])
def test_what_is_no_more_than_half_there_is_never_read_as_if_whole(make_svs, reader):
    path = make_svs()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    def read_all():
        with open_slide(path, reader) as slide:
            slide.read(0, 0, 0, slide.levels[0].height_px, slide.levels[0].width_px)

    with refused(BadInput):
        read_all()


def test_slides_of_a_folder_are_listed_by_name_and_one_by_itself_whatever_it_is_called(tmp_path):
    for name in ("b.svs", "a.OME.TIF", "c.ndpi", "notes.txt", "._b.svs", ".hidden.tif"):
        (tmp_path / name).touch()
    (tmp_path / "d.zarr").mkdir()
    (tmp_path / "folder.tif").mkdir()
    os.mkfifo(tmp_path / "pipe.svs")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "e.svs").touch()
    names = [path.name for path in slide_files(tmp_path)]
    assert names == ["a.OME.TIF", "b.svs", "c.ndpi", "d.zarr"]
    (tmp_path / "slide.odd").touch()
    (tmp_path / "slide.zarr").mkdir()
    assert slide_files(tmp_path / "slide.odd") == [tmp_path / "slide.odd"]
    assert slide_files(tmp_path / "slide.zarr") == [tmp_path / "slide.zarr"]


def test_an_empty_folder_and_a_missing_one_are_said(tmp_path):
    with refused(BadInput):
        slide_files(tmp_path)
    with refused(BadInput):
        slide_files(tmp_path / "none")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_a_slide_that_may_not_be_read_is_said(tmp_path):
    path = tmp_path / "slide.svs"
    path.write_text("slide")
    path.chmod(0)
    with pytest.raises(BadInput, match="is not readable for this user"):
        check_readable(path)
