"""Frames that are written have their axes and pixels, and the same bytes each time."""

import zlib

import numpy as np
import pytest
import tifffile

from pyscale_stages.moviewriter import write_movie, write_pages


@pytest.mark.parametrize(
    ("shape", "axes"), [((3, 20, 24), "TYX"), ((3, 2, 20, 24), "TCYX"), ((1, 2, 20, 24), "CYX")]
)
def test_written_frames_have_the_axes_and_pixels_that_were_given(tmp_path, shape, axes):
    pixels = np.random.default_rng(0).integers(0, 60_000, shape, np.uint16)
    path = tmp_path / "out.ome.tif"
    write_pages(path, pixels.reshape(-1, 20, 24), shape, pixels.dtype)
    with tifffile.TiffFile(path) as tiff:
        assert tiff.is_ome
        assert tiff.series[0].axes == axes
        assert np.array_equal(tiff.asarray().reshape(shape), pixels)
    again = tmp_path / "again.ome.tif"
    write_pages(again, pixels.reshape(-1, 20, 24), shape, pixels.dtype)
    assert again.read_bytes() == path.read_bytes()


def test_pages_that_are_compressed_already_give_the_same_file(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 60_000, (3, 20, 24), np.uint16)
    write_pages(tmp_path / "raw.ome.tif", pixels, pixels.shape, pixels.dtype)
    packed = [zlib.compress(page.tobytes(), 6) for page in pixels]
    write_pages(tmp_path / "packed.ome.tif", packed, pixels.shape, pixels.dtype)
    assert np.array_equal(tifffile.imread(tmp_path / "packed.ome.tif"), pixels)


def test_axes_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match="have no axes TCYX"):
        write_movie(tmp_path / "m.ome.tif", np.zeros((2, 3, 3), np.uint8), "TCYX")
