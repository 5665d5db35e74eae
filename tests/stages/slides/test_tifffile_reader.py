import imagecodecs
import numpy as np
import pytest
import tifffile

from atleastone import some
from pyscale_stages.errors import BadInput
from pyscale_stages.slides import tifffile_reader
from pyscale_stages.slides.opening import AnySlide
from pyscale_stages.slides.tifffile_reader import is_whole
from refusals import refused


def _opened(path, reader="tifffile"):
    slide = AnySlide(reader)
    slide.open(str(path))
    return slide


def open_tiled_tiff(path):
    return _opened(path)._slide


def _openslide(path):
    return _opened(path, "openslide")


def _regions(slide, count):
    """Places and sizes of many kinds, at every level, up to the last row and column."""
    rng = np.random.default_rng(2)
    found = []
    for number, (tall, wide) in enumerate(slide.shapes):
        found.append((number, 0, 0, tall, wide))
        for _ in range(count):
            height = int(rng.integers(1, tall + 1))
            width = int(rng.integers(1, wide + 1))
            y0 = int(rng.integers(0, tall - height + 1))
            x0 = int(rng.integers(0, wide - width + 1))
            found.append((number, y0, x0, height, width))
    return found


def _whole(slide):
    return slide.pixels(0, 0, 0, *slide.shapes[0])


@pytest.mark.parametrize("subsampling", [(1, 1), (2, 1), (2, 2)])
def test_every_pixel_of_jpeg_slides_is_the_one_that_openslide_reads(make_svs, subsampling):
    path = make_svs(subsampling=subsampling)
    ours, theirs = open_tiled_tiff(path), _openslide(path)
    _assert_same_levels(ours, theirs)
    assert ours.get_properties().level_downsamples == (1, 2, 4)
    for level, y0, x0, height, width in _regions(ours, 25):
        corner = (x0 * 2**level, y0 * 2**level)
        found = ours.read_region(*corner, level, width, height)
        np.testing.assert_array_equal(found, theirs.read_region(*corner, level, width, height))
        np.testing.assert_array_equal(found, ours.pixels(level, y0, x0, height, width))


def _assert_same_levels(ours, theirs):
    ours, theirs = ours.get_properties(), theirs.get_properties()
    assert ours.level_dimensions == theirs.level_dimensions
    assert ours.level_downsamples == theirs.level_downsamples
    assert ours.mpp == theirs.mpp == 0.5


def test_jpeg_tiles_that_share_tables_and_hold_rgb_are_read_as_openslide_does(write_tiled, picture):
    of_rgb = {"compression": "jpeg", "compressionargs": {"outcolorspace": "rgb"}}
    path = write_tiled("rgb.tif", picture, **of_rgb)
    theirs = _openslide(path).read_region(0, 0, 0, picture.shape[1], picture.shape[0])
    np.testing.assert_array_equal(_whole(open_tiled_tiff(path)), theirs)


@pytest.mark.parametrize(
    ("compression", "predictor"),
    [
        (None, None),
        ("lzw", True),
        ("zstd", True),
        ("jpeg2000", None),
        ("aperio_jp2000_rgb", None),
        ("webp", None),
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
        np.testing.assert_array_equal(slide.pixels(level, y0, x0, height, width), expected)


@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_a_grey_slide_of_16_bits_keeps_its_values(write_tiled, picture, byteorder):
    grey = picture[..., 0].astype(np.uint16) * 251
    packed = {"compression": "lzw", "byteorder": byteorder}
    slide = open_tiled_tiff(write_tiled("grey.tif", grey, photometric="minisblack", **packed))
    assert (slide.channels, slide.dtype) == (1, np.dtype(np.uint16))
    found = _whole(slide)
    assert found.dtype == np.dtype(np.uint16)
    np.testing.assert_array_equal(found[..., 0], grey)


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
    assert slide.shapes == [(603, 751), (302, 376)]
    np.testing.assert_array_equal(
        slide.pixels(1, 30, 50, 200, 300), np.moveaxis(channels[:, ::2, ::2], 0, -1)[30:230, 50:350]
    )


def test_levels_that_are_reduced_pages_are_found_as_openslide_finds_them(write_pyramid, picture):
    size = {"resolution": (20_000, 20_000), "resolutionunit": "CENTIMETER"}
    path = write_pyramid(picture[:600, :750], (1, 3), **size)
    ours, theirs = open_tiled_tiff(path), _openslide(path)
    _assert_same_levels(ours, theirs)
    np.testing.assert_array_equal(
        ours.pixels(1, 0, 0, 200, 250), theirs.read_region(0, 0, 1, 250, 200)
    )


def test_a_tile_that_was_never_written_is_white(gap):
    found = _whole(open_tiled_tiff(gap))
    assert (found[128:, :128] == 255).all()
    assert (found[:, 128:] == 10).all()


def test_tiles_are_kept_within_bounds_and_not_changed_by_what_a_caller_does_to_a_region(
    make_svs, monkeypatch
):
    slide = open_tiled_tiff(make_svs())
    first = slide.pixels(0, 0, 0, 128, 128)
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(slide.pixels(0, 0, 0, 128, 128), kept)
    monkeypatch.setattr(tifffile_reader, "KEPT_BYTES", 3 * 128 * 128 * 3)
    slide = open_tiled_tiff(make_svs())
    expected = _whole(slide)
    assert slide._tile.cache_info().currsize == 3
    np.testing.assert_array_equal(_whole(slide), expected)


def test_damaged_bytes_of_other_compressions_are_said_as_well(write_tiled, damage_tile, picture):
    for compression in ("lzw", "deflate", "zstd", "jpeg2000"):
        path = write_tiled(f"{compression}.tif", picture, compression=compression)
        with refused(BadInput):
            damage_tile(path, 0, b"\x93garbage" * 20)
            _opened(path).read_region(128, 0, 0, 128, 128)


def test_what_ends_too_soon_is_refused_when_it_is_opened(make_svs):
    path = make_svs(steps=(1,))
    whole = path.read_bytes()
    with tifffile.TiffFile(path) as tiff:
        end = max(tiff.pages.first.dataoffsets)
    path.write_bytes(whole[: end + 10])
    with refused(BadInput):
        open_tiled_tiff(path)


def test_colours_of_which_tifffile_gives_others_and_what_is_not_in_tiles_are_refused(
    write_tiled, tmp_path, picture
):
    with refused(BadInput):
        open_tiled_tiff(write_tiled("ycbcr.tif", picture, photometric="ycbcr", compression="zlib"))
    tifffile.imwrite(tmp_path / "stack.tif", picture[..., 0])
    with refused(BadInput):
        open_tiled_tiff(tmp_path / "stack.tif")


def test_a_size_of_pixels_that_is_no_number_is_none(make_svs):
    for said in ("", "|MPP = unknown", "|MPP = 0", "|MPP = nan"):
        assert open_tiled_tiff(make_svs(mpp=said)).mpp is None


def test_tiles_of_any_quality_are_whole_also_with_padding_behind_them(picture):
    for quality in (1, 20, 80, 100):
        tile = imagecodecs.jpeg8_encode(picture, level=quality)
        assert is_whole(tile)
        assert is_whole(tile + b"\0\0\xff\0")


def test_a_tile_of_several_scans_is_whole(picture):
    cv2 = pytest.importorskip("cv2")
    _, tile = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])
    assert tile.tobytes().count(b"\xff\xda") > 1
    assert is_whole(tile.tobytes())
    assert not is_whole(tile.tobytes()[: len(tile) // 2])


def test_a_tile_cut_anywhere_or_that_ends_before_its_data_do_is_not_whole(picture):
    tile = imagecodecs.jpeg8_encode(picture[:64, :64], level=80)
    assert not any(is_whole(tile[:end]) for end in range(len(tile)))
    tile = imagecodecs.jpeg8_encode(picture, level=80)
    half = len(tile) // 2
    assert not is_whole(tile[:half] + b"\xff\xd9" + tile[half:])
    assert not is_whole(tile[:half] + b"\xff\x20" + tile[half:])
    assert not is_whole(b"garbage" * 20)
