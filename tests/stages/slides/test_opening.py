import cv2
import numpy as np
import pytest
import tifffile

from omezarr import write_zarr
from pyscale_stages.errors import BadInput
from pyscale_stages.slides.opening import READERS, AnySlide, reader_of
from refusals import refused

OF_FILES = ["auto", "tifffile", "openslide", "tiffslide"]


def opened(path, reader="auto"):
    slide = AnySlide(reader)
    slide.open(str(path))
    return slide


def test_slides_of_scanners_go_to_openslide_and_those_that_it_reads_otherwise_to_tifffile(
    make_svs, write_tiled, tmp_path, picture
):
    assert reader_of(make_svs()) == "openslide"
    assert reader_of(write_tiled("colours.tif", picture)) == "openslide"
    grey = {"photometric": "minisblack"}
    assert reader_of(write_tiled("grey.tif", picture[..., 0], **grey)) == "tifffile"
    assert reader_of(write_tiled("deep.tif", picture.astype(np.uint16))) == "tifffile"
    assert reader_of(write_tiled("jpegxl.tif", picture, compression="jpegxl")) == "tifffile"
    with tifffile.TiffWriter(tmp_path / "levels.tif") as tiff:
        tiff.write(picture, tile=(128, 128), photometric="rgb", subifds=1)
        tiff.write(picture[::2, ::2], tile=(128, 128), photometric="rgb", subfiletype=1)
    assert reader_of(tmp_path / "levels.tif") == "tifffile"
    write_zarr(tmp_path / "image.zarr", picture[..., 0], "yx")
    assert reader_of(tmp_path / "image.zarr") == "zarr"


def test_a_slide_with_an_alpha_channel_loses_it(write_tiled, picture):
    pixels = np.dstack([picture, np.full((*picture.shape[:2], 1), 255, np.uint8)])
    slide = opened(write_tiled("alpha.tif", pixels, extrasamples=["unassalpha"]))
    found = slide.read_region(99, 9, 0, 100, 200)
    np.testing.assert_array_equal(found, picture[9:209, 99:199])


def test_ycbcr_of_jpeg_2000_has_its_colours(make_svs, picture):
    ycbcr = cv2.cvtColor(picture, cv2.COLOR_RGB2YCrCb)[..., [0, 2, 1]]
    as_written = {"compression": 33003, "compressionargs": None, "subsampling": None}
    path = make_svs(pixels=ycbcr, steps=(1,), **as_written)
    found = opened(path).read_region(0, 0, 0, 700, 600).astype(int)
    assert np.abs(found - picture[:600, :700]).max() <= 2
    with refused(BadInput):
        opened(path, "tifffile")


@pytest.mark.parametrize("reader", OF_FILES)
def test_a_text_file_named_like_a_slide_is_said_to_be_none(tmp_path, reader):
    path = tmp_path / "notes.svs"
    path.write_text("these are no pixels\n" * 100)
    with refused(BadInput):
        opened(path, reader)


@pytest.mark.parametrize("reader", ["auto", *READERS])
def test_an_empty_file_and_none_at_all_are_said_in_a_sentence(tmp_path, reader):
    path = tmp_path / "slide.svs"
    with refused(BadInput):
        opened(path, reader)
    path.touch()
    with refused(BadInput):
        opened(path, reader)


@pytest.mark.parametrize("reader", OF_FILES)
def test_what_is_no_more_than_half_there_is_never_read_as_if_whole(make_svs, reader):
    path = make_svs()
    width, height = opened(path, reader).get_properties().dimensions
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with refused(BadInput):
        opened(path, reader).read_region(0, 0, 0, width, height)


@pytest.mark.parametrize("reader", ["tifffile", "auto"])
@pytest.mark.parametrize(
    ("at_share", "damage"),
    [
        (0, b"garbage"),
        (0, b"\xff\xd9"),
        (0.5, b"\xff\x17garbage"),
        (0.5, b"\xff\xd9"),
        (1, b"garbage"),
    ],
)
def test_a_damaged_tile_is_said_in_a_sentence_and_its_neighbours_are_read(
    make_svs, damage_tile, at_share, damage, reader
):
    slide = opened(damage_tile(make_svs(), at_share, damage), reader)
    assert slide.read_region(0, 0, 0, 128, 128).shape == (128, 128, 3)
    with refused(BadInput):
        slide.read_region(100, 100, 0, 64, 64)


def test_a_picture_has_the_proportions_of_its_slide_and_is_near_what_openslide_gives(
    write_pyramid, picture
):
    path = write_pyramid(picture, (1, 2, 4))
    ours, theirs = (opened(path, name).get_thumbnail((100, 100)) for name in OF_FILES[1:3])
    assert ours.shape == theirs.shape == (80, 100, 3)
    assert np.abs(ours.astype(int) - theirs).mean() < 2


def test_tissue_cannot_be_told_from_glass_without_8_bit_colours(write_tiled, picture):
    path = write_tiled("grey.tif", picture[..., 0], photometric="minisblack")
    with refused(BadInput):
        opened(path).get_thumbnail((100, 100))
