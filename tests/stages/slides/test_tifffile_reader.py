"""Our own reader of tiled TIFF: pixels, damage, and what it keeps."""

import numpy as np
import pytest
import tifffile

from atleastone import some
from pyscale_stages.errors import BadInput
from pyscale_stages.slides import tifffile_reader
from pyscale_stages.slides.otherreaders import OpenSlideSlide
from pyscale_stages.slides.tifffile_reader import open_tiled_tiff
from refusals import refused


def _regions(slide, count):
    """Places and sizes of many kinds, at every level, up to the last row and column."""
    rng = np.random.default_rng(2)
    found = []
    for number, level in enumerate(slide.levels):
        found.append((number, 0, 0, level.height_px, level.width_px))
        for _ in range(count):
            height = int(rng.integers(1, level.height_px + 1))
            width = int(rng.integers(1, level.width_px + 1))
            y0 = int(rng.integers(0, level.height_px - height + 1))
            x0 = int(rng.integers(0, level.width_px - width + 1))
            found.append((number, y0, x0, height, width))
    return found


def _whole(slide):
    return slide.read(0, 0, 0, slide.levels[0].height_px, slide.levels[0].width_px)


@pytest.mark.parametrize("subsampling", [(1, 1), (2, 1), (2, 2)])
def test_every_pixel_of_jpeg_slides_is_the_one_that_openslide_reads(make_svs, subsampling):
    path = make_svs(subsampling=subsampling)
    ours, theirs = open_tiled_tiff(path), OpenSlideSlide(path)
    assert ours.levels == theirs.levels
    assert [level.downsample for level in ours.levels] == [1, 2, 4]
    assert ours.mpp == theirs.mpp == 0.5
    for region in _regions(ours, 25):
        np.testing.assert_array_equal(ours.read(*region), theirs.read(*region))


def test_jpeg_tiles_that_share_tables_and_hold_rgb_are_read_as_openslide_does(write_tiled, picture):
    of_rgb = {"compression": "jpeg", "compressionargs": {"outcolorspace": "rgb"}}
    path = write_tiled("rgb.tif", picture, **of_rgb)
    np.testing.assert_array_equal(_whole(open_tiled_tiff(path)), _whole(OpenSlideSlide(path)))


@pytest.mark.parametrize(
    ("compression", "predictor"),
    [
        (None, None),
        ("lzw", None),
        ("lzw", True),
        ("deflate", None),
        ("deflate", True),
        ("zstd", True),
        ("jpeg2000", None),
        ("aperio_jp2000_rgb", None),
        ("webp", None),
        ("jpegxl", None),
        ("packbits", None),
        ("lzma", True),
    ],
)
@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_pixels_come_back_from_every_lossless_compression(
    write_tiled, picture, compression, predictor, byteorder
):
    packed = {"compression": compression, "predictor": predictor, "byteorder": byteorder}
    picture = picture[:300, 200:600]
    slide = open_tiled_tiff(write_tiled("slide.tif", picture, **packed))
    for level, y0, x0, height, width in some(_regions(slide, 5)):
        expected = picture[y0 : y0 + height, x0 : x0 + width]
        np.testing.assert_array_equal(slide.read(level, y0, x0, height, width), expected)


@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("predictor", [None, True])
def test_a_grey_slide_of_16_bits_keeps_its_values(write_tiled, picture, byteorder, predictor):
    grey = picture[..., 0].astype(np.uint16) * 251
    packed = {"compression": "lzw", "predictor": predictor, "byteorder": byteorder}
    slide = open_tiled_tiff(write_tiled("grey.tif", grey, photometric="minisblack", **packed))
    assert (slide.channels, slide.dtype) == (1, np.dtype(np.uint16))
    found = _whole(slide)
    assert found.dtype == np.dtype(np.uint16)
    np.testing.assert_array_equal(found[..., 0], grey)


@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_floats_whose_differences_are_kept_are_those_that_tifffile_reads(
    write_tiled, picture, byteorder, bits
):
    grey = picture[..., 0].astype(f"f{bits // 8}") / 7 - 15
    # tifffile writes differences of integers alone, so the bits are written as such.
    packed = {"compression": "zlib", "predictor": 2, "byteorder": byteorder}
    as_integers = grey.view(f"i{bits // 8}")
    path = write_tiled("float.tif", as_integers, photometric="minisblack", **packed)
    with tifffile.TiffFile(path, mode="r+") as tiff:
        tiff.pages[0].tags["SampleFormat"].overwrite(tifffile.SAMPLEFORMAT.IEEEFP)
    np.testing.assert_array_equal(tifffile.imread(path), grey)
    np.testing.assert_array_equal(_whole(open_tiled_tiff(path))[..., 0], grey)


def test_colours_that_lie_in_planes_of_their_own_are_put_together(write_tiled, picture):
    apart = {"planarconfig": "separate", "compression": "deflate"}
    slide = open_tiled_tiff(write_tiled("planar.tif", np.moveaxis(picture, -1, 0), **apart))
    np.testing.assert_array_equal(_whole(slide), picture)


def test_channels_and_levels_of_an_ome_tiff_are_found(tmp_path, picture):
    channels = np.moveaxis(picture, -1, 0)[:2].astype(np.uint16)
    path = tmp_path / "image.ome.tif"
    with tifffile.TiffWriter(path) as tiff:
        said = {"axes": "CYX", "PhysicalSizeX": 250, "PhysicalSizeXUnit": "nm"}
        tiff.write(channels, tile=(128, 128), subifds=1, metadata=said)
        tiff.write(channels[:, ::2, ::2], tile=(128, 128), subfiletype=1)
    slide = open_tiled_tiff(path)
    assert slide.mpp == 0.25
    assert [(level.height_px, level.width_px) for level in slide.levels] == [(603, 751), (302, 376)]
    np.testing.assert_array_equal(
        slide.read(1, 30, 50, 200, 300), np.moveaxis(channels[:, ::2, ::2], 0, -1)[30:230, 50:350]
    )


def test_levels_that_are_reduced_pages_are_found_as_openslide_finds_them(write_pyramid, picture):
    size = {"resolution": (20_000, 20_000), "resolutionunit": "CENTIMETER"}
    path = write_pyramid(picture[:600, :750], (1, 3), **size)
    ours, theirs = open_tiled_tiff(path), OpenSlideSlide(path)
    assert ours.levels == theirs.levels
    assert ours.mpp == theirs.mpp == 0.5
    np.testing.assert_array_equal(ours.read(1, 0, 0, 200, 250), theirs.read(1, 0, 0, 200, 250))


def test_a_tile_that_was_never_written_is_white(gap):
    found = _whole(open_tiled_tiff(gap))
    assert (found[128:, :128] == 255).all()
    assert (found[:, 128:] == 10).all()


def test_tiles_are_kept_within_bounds_and_not_changed_by_what_a_caller_does_to_a_region(
    make_svs, monkeypatch
):
    slide = open_tiled_tiff(make_svs())
    first = slide.read(0, 0, 0, 128, 128)
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(slide.read(0, 0, 0, 128, 128), kept)
    monkeypatch.setattr(tifffile_reader, "KEPT_BYTES", 3 * 128 * 128 * 3)
    slide = open_tiled_tiff(make_svs())
    expected = _whole(slide)
    assert len(slide._kept) == 3
    slide.close()
    assert not slide._kept
    np.testing.assert_array_equal(_whole(slide), expected)


def test_another_level_or_place_than_there_is_is_refused(make_svs):
    slide = open_tiled_tiff(make_svs())
    for region in [(0, -1, 0, 9, 9), (0, 0, 745, 9, 9), (0, 600, 0, 9, 9), (0, 0, 0, 0, 9)]:
        with refused(BadInput):
            slide.read(*region)
    with refused(BadInput):
        slide.read(3, 0, 0, 1, 1)
    with refused(BadInput):
        slide.read(0, 0, 0, 1, 1, plane=1)


def _damaged(path, at_share, damage):
    """Overwrite a part of the second tile of the first level."""
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages.first
        offset, size = page.dataoffsets[1], page.databytecounts[1]
    with path.open("r+b") as file:
        file.seek(offset + int(at_share * (size - len(damage))))
        file.write(damage)
    return open_tiled_tiff(path)


@pytest.mark.parametrize(
    ("at_share", "damage"),
    [(0, b"garbage"), (0.5, b"\xff\x17garbage"), (0.5, b"\xff\xd9"), (1, b"garbage")],
)
def test_a_damaged_tile_is_said_in_a_sentence_and_its_neighbours_are_read(
    make_svs, at_share, damage
):
    slide = _damaged(make_svs(), at_share, damage)
    assert slide.read(0, 0, 0, 128, 128).shape == (128, 128, 3)
    with refused(BadInput):
        slide.read(0, 100, 100, 64, 64)


def test_damaged_bytes_of_other_compressions_are_said_as_well(write_tiled, picture):
    for compression in ("lzw", "deflate", "zstd", "jpeg2000"):
        path = write_tiled(f"{compression}.tif", picture, compression=compression)
        with refused(BadInput):
            _damaged(path, 0, b"\x93garbage" * 20).read(0, 0, 128, 128, 128)


def test_what_ends_too_soon_or_cannot_be_decoded_is_refused_when_it_is_opened(
    make_svs, write_tiled, picture
):
    path = make_svs(steps=(1,))
    whole = path.read_bytes()
    with tifffile.TiffFile(path) as tiff:
        end = max(tiff.pages.first.dataoffsets)
    path.write_bytes(whole[: end + 10])
    with refused(BadInput):
        open_tiled_tiff(path)
    with refused(BadInput):
        open_tiled_tiff(write_tiled("lerc.tif", picture, compression="lerc"))
