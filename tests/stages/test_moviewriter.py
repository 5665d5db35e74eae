"""Frames that are written have their axes and pixels, and the same bytes each time."""

import numpy as np
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import stored_pages, write_movie, write_pages
from refusals import refused


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


def test_axes_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match="have no axes TCYX"):
        write_movie(tmp_path / "m.ome.tif", np.zeros((2, 3, 3), np.uint8), "TCYX")


@pytest.fixture
def halves(tmp_path):
    """A movie of two channels, and the same in two files."""
    pixels = np.random.default_rng(0).integers(0, 60_000, (5, 2, 20, 24), np.uint16)
    for name, part in (("whole", pixels), ("a", pixels[:3]), ("b", pixels[3:])):
        write_movie(tmp_path / f"{name}.ome.tif", part, "TCYX")
    return pixels, tmp_path


def opened(folder):
    return [Movie.open(folder / f"{name}.ome.tif") for name in "ab"]


def test_pages_are_copied_from_files_to_one_that_is_as_if_it_had_been_written_whole(halves):
    pixels, folder = halves
    write_pages(folder / "joined.ome.tif", stored_pages(opened(folder)), pixels.shape, np.uint16)
    assert (folder / "joined.ome.tif").read_bytes() == (folder / "whole.ome.tif").read_bytes()
    with tifffile.TiffFile(folder / "joined.ome.tif") as tiff:
        assert tiff.series[0].axes == "TCYX"
        assert np.array_equal(tiff.asarray(), pixels)


OTHERWISE = {
    "other compression": {"compression": "lzw"},
    "none": {},
    "predictor": {"compression": "zlib", "predictor": True},
    "several strips": {"compression": "zlib", "rowsperstrip": 4},
    "tiles": {"compression": "zlib", "tile": (16, 16)},
    "other byte order": {"compression": "zlib", "byteorder": ">"},
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_pages_that_lie_otherwise_in_one_file_are_not_copied(halves, name):
    pixels, folder = halves
    tifffile.imwrite(
        folder / "b.ome.tif",
        pixels[3:],
        photometric="minisblack",
        metadata={"axes": "TCYX"},
        **OTHERWISE[name],
    )
    movies = opened(folder)
    assert np.array_equal(movies[1].read(0, 2), pixels[3:])
    assert stored_pages(movies) is None


def test_pages_of_two_types_or_of_a_folder_are_not_copied(halves):
    pixels, folder = halves
    write_movie(folder / "b.ome.tif", pixels[3:].astype(np.uint32), "TCYX")
    assert stored_pages(opened(folder)) is None
    frames = folder / "frames"
    frames.mkdir()
    write_movie(frames / "0.tif", pixels[:1, 0], "TYX")
    assert stored_pages([Movie.open(frames)]) is None


def test_a_file_that_was_cut_short_after_it_was_opened_is_refused(halves):
    _, folder = halves
    pages = stored_pages(opened(folder))
    last = folder / "b.ome.tif"
    last.write_bytes(last.read_bytes()[:2000])
    with refused(BadInput):
        list(pages)
