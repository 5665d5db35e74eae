"""Movies are read as they are, or refused in one sentence."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import tifffile

from moviefiles import noise, write_set
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.reading import Reading
from refusals import refused


def ramp(*shape):
    return np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)


@pytest.fixture
def stack(tmp_path):
    path = tmp_path / "movie.ome.tif"
    write_movie(path, ramp(6, 5, 7), "TYX")
    return path


def test_colours_that_are_planes_are_channels_and_frames_where_their_number_is_known(tmp_path):
    tifffile.imwrite(tmp_path / "c.tif", ramp(5, 3, 6, 7))
    movie = Movie.open(tmp_path / "c.tif")
    assert (movie.n_frames, movie.n_channels) == (5, 3)
    np.testing.assert_array_equal(movie.read(1, 3, channel=2), ramp(5, 3, 6, 7)[1:3, 2])
    tifffile.imwrite(tmp_path / "f.tif", ramp(4, 6, 7))
    known = Movie.open(tmp_path / "f.tif", frames=4)
    np.testing.assert_array_equal(known.read(1, 3, channel=0), ramp(4, 6, 7)[1:3])
    for frames in (None, 8):
        with refused(BadInput):
            Movie.open(tmp_path / "f.tif", frames=frames)


def is_open(path):
    return any(path.samefile(fd) for fd in Path("/proc/self/fd").iterdir() if fd.exists())


def test_a_channel_of_a_two_channel_stack_is_that_channel_and_has_longer_runs(tmp_path):
    write_movie(tmp_path / "two.ome.tif", ramp(4, 2, 5, 7), "TCYX")
    movie = Movie.open(tmp_path / "two.ome.tif")
    assert movie.n_channels == 2
    np.testing.assert_array_equal(movie.read(1, 3, channel=1), ramp(4, 2, 5, 7)[1:3, 1])
    np.testing.assert_array_equal(movie.read(1, 3), ramp(4, 2, 5, 7)[1:3])
    both_channels_of_two_frames = 2 * 2 * 5 * 7 * 2
    assert list(movie.blocks(0, 4, block_bytes=both_channels_of_two_frames)) == [(0, 2), (2, 4)]
    assert list(movie.blocks(0, 4, 1, block_bytes=both_channels_of_two_frames)) == [(0, 4)]


@pytest.mark.parametrize(
    ("block_frames", "runs"),
    [(2, [(1, 3), (3, 5), (5, 6)]), (100, [(1, 6)]), (0.5, [(f, f + 1) for f in range(1, 6)])],
)
def test_a_window_is_cut_into_runs_of_bounded_memory(stack, block_frames, runs):
    found = Movie.open(stack).blocks(1, 6, block_bytes=int(block_frames * 5 * 7 * 2))
    assert list(found) == runs


def test_a_colour_frame_has_its_colours_as_channels_which_count_even_if_one_is_wanted(shared_data):
    movie = Movie.open(shared_data / "drosophila-nuclei")
    assert (movie.n_frames, movie.n_channels, movie.shape_yx) == (21, 3, (264, 542))
    frame = tifffile.imread(movie.files[20])
    np.testing.assert_array_equal(movie.read(20, 21)[0], np.moveaxis(frame, -1, 0))
    np.testing.assert_array_equal(movie.read(20, 21, channel=1)[0], frame[..., 1])
    colour_frame_bytes = 264 * 542 * 3
    assert list(movie.blocks(0, 3, 1, block_bytes=colour_frame_bytes)) == [(0, 1), (1, 2), (2, 3)]


def test_a_stack_whose_writer_named_no_axis_is_a_movie(shared_data):
    movie = Movie.open(shared_data / "cancer-migration" / "cancer_cell_migration_crop.tif")
    assert (movie.n_frames, movie.shape_yx) == (48, (130, 130))


def test_axes_that_are_given_win_over_those_of_the_file_also_over_wrong_ones(tmp_path):
    tifffile.imwrite(tmp_path / "z.ome.tif", ramp(4, 5, 5), metadata={"axes": "ZYX"}, ome=True)
    with refused(BadInput):
        Movie.open(tmp_path / "z.ome.tif")
    assert Movie.open(tmp_path / "z.ome.tif", reading=Reading(axes="TYX")).n_frames == 4
    path = tmp_path / "wrong.tif"
    tifffile.imwrite(path, ramp(5, 8, 8), photometric="minisblack", metadata={"axes": "TCYX"})
    with refused(BadInput):
        Movie.open(path)
    movie = Movie.open(path, reading=Reading(axes="TYX"))
    np.testing.assert_array_equal(movie.read(1, 3, 0), ramp(5, 8, 8)[1:3])


@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("window", [(0, 3), (3, 5), (0, 1)])
def test_an_imagej_stack_of_one_page_and_bare_pixels_is_read(tmp_path, window, byteorder):
    """So ImageJ writes stacks of more than 4 GB."""
    options = {"imagej": True, "metadata": {"axes": "TYX"}, "byteorder": byteorder}
    tifffile.imwrite(tmp_path / "ij.tif", ramp(6, 5, 7), truncate=True, **options)
    with tifffile.TiffFile(tmp_path / "ij.tif") as tiff:
        assert len(tiff.pages) == 1
    start, stop = window
    read = Movie.open(tmp_path / "ij.tif").read(start, stop, 0)
    np.testing.assert_array_equal(read, ramp(6, 5, 7)[start:stop])


def test_frames_come_in_the_order_of_their_times_not_of_their_pages(tmp_path):
    pages = np.stack([np.full((4, 4), value, np.uint8) for value in (10, 20, 30)])
    path = tmp_path / "shuffled.ome.tif"
    tifffile.imwrite(path, pages, ome=True, metadata={"axes": "TYX"}, photometric="minisblack")
    described = tifffile.tiffcomment(path)
    data = "".join(f'<TiffData IFD="{2 - t}" FirstT="{t}" PlaneCount="1"/>' for t in range(3))
    tifffile.tiffcomment(path, re.sub(r"<TiffData.*?/(TiffData)?>", data, described, count=1))
    assert tifffile.imread(path)[:, 0, 0].tolist() == [30, 20, 10]
    assert Movie.open(path).read(0, 3, 0)[:, 0, 0].tolist() == [30, 20, 10]


@pytest.mark.parametrize("options", [{}, {"compression": "zlib"}, {"tile": (16, 16)}])
@pytest.mark.parametrize("axes", ["TYX", "TCYX"])
def test_frames_that_are_planes_of_one_page_are_read_one_by_one(tmp_path, options, axes):
    """So tifffile writes 3 or 4 frames that nothing describes."""
    frames = ramp(*((3, 16, 32) if axes == "TYX" else (5, 3, 16, 32)))
    tifffile.imwrite(tmp_path / "planes.tif", frames, metadata={"axes": axes}, **options)
    with tifffile.TiffFile(tmp_path / "planes.tif") as tiff:
        assert tiff.pages[0].shape == (3, 16, 32)
    movie = Movie.open(tmp_path / "planes.tif")
    for frame in range(movie.n_frames):
        alone = movie.read(frame, frame + 1).squeeze()
        np.testing.assert_array_equal(alone, frames[frame])
    channel = movie.read(1, 3, movie.n_channels - 1)
    np.testing.assert_array_equal(channel, frames[1:3] if axes == "TYX" else frames[1:3, 2])


def written(path, frames, keep=1, **options):
    """Write frames that nothing describes, and keep a part of the file."""
    tifffile.imwrite(path, frames, photometric="minisblack", **options)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
    return path


def unreadable(path):
    with refused(BadInput):
        movie = Movie.open(path)
        movie.read(0, movie.n_frames, 0)


NAN = np.where(np.arange(48).reshape(3, 4, 4) == 37, np.nan, np.float32(0))


@pytest.mark.parametrize(
    "make",
    [
        lambda path: None,
        Path.touch,
        lambda path: path.write_text("not an image"),
        os.mkfifo,
        Path.mkdir,
        lambda path: written(path, np.zeros((4, 4), "c8")),
        lambda path: write_movie(path, NAN, "TYX"),
    ],
    ids=["absent", "empty", "text", "pipe", "folder", "complex", "NaN"],
)
def test_what_is_no_movie_is_refused(tmp_path, make):
    make(tmp_path / "movie.ome.tif")
    unreadable(tmp_path / "movie.ome.tif")


@pytest.mark.parametrize("kept", [0.02, 0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_a_truncated_file_is_refused(tmp_path, kept, compression):
    noise = np.random.default_rng(0).integers(0, 9999, (8, 64, 64), dtype=np.uint16)
    path = written(tmp_path / "cut.tif", noise, kept, compression=compression)
    unreadable(path)


PACKED, PLAIN = (ramp(4, 24, 32), {"compression": "zlib"}), (ramp(24, 32), {"metadata": None})


@pytest.mark.parametrize(
    ("movie", "page", "tag", "value"),
    [
        (PACKED, 0, "BitsPerSample", 0),  # AssertionError
        (PACKED, 0, "RowsPerStrip", 0),  # ZeroDivisionError
        (PACKED, 2, "ImageWidth", 7),  # RuntimeError
        (PLAIN, 0, "ImageWidth", 0),
        (PLAIN, 0, "ImageLength", 0),
    ],
    ids=["no bits", "no rows", "a narrow page", "no width", "no length"],
)
def test_a_file_of_broken_tags_is_refused(tmp_path, movie, page, tag, value):
    frames, options = movie
    path = written(tmp_path / "broken.tif", frames, **options)
    with tifffile.TiffFile(path, mode="r+") as tiff:
        tiff.pages[page].aspage().tags[tag].overwrite(value)
    unreadable(path)
    assert not is_open(path)


def test_a_channel_that_is_missing_is_refused(stack):
    with refused(BadInput):
        Movie.open(stack).read(0, 1, channel=3)


@pytest.mark.parametrize(
    ("shape", "dtype"), [((4, 5), "u1"), ((8, 4), "u1"), ((4, 8), "f4"), ((2, 4, 8), "u1")]
)
def test_a_folder_of_frames_of_two_kinds_or_of_movies_is_refused(tmp_path, shape, dtype):
    written(tmp_path / "f1.tif", np.zeros((4, 8), np.uint8))
    written(tmp_path / "f2.tif", np.zeros(shape, dtype))
    unreadable(tmp_path)
    written(tmp_path / "f1.tif", ramp(3, 4, 4))
    unreadable(tmp_path)


def test_an_ome_tiff_in_several_files_with_others_beside_is_refused(tmp_path):
    write_set(tmp_path / "set", noise(3))
    tifffile.imwrite(tmp_path / "set" / "other.tif", ramp(16, 16))
    with refused(BadInput):
        Movie.open(tmp_path / "set")


@pytest.mark.parametrize("options", [{}, {"contiguous": True}, {"metadata": None}], ids=str)
def test_frames_that_were_written_one_by_one_are_frames(tmp_path, options):
    frames = ramp(5, 16, 16)
    with tifffile.TiffWriter(tmp_path / "movie.tif") as writer:
        for frame in frames:
            writer.write(frame, **options)
    movie = Movie.open(tmp_path / "movie.tif")
    assert movie.n_frames == 5
    assert np.array_equal(movie.read(0, 5, channel=0), frames)
