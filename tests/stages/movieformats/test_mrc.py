"""MRC movies, and what the field's own reader finds in them."""

import numpy as np
import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.movieformats.mrc import open_mrc, write_mrc

RNG = np.random.default_rng(0)
FRAMES = RNG.integers(0, 100, (5, 30, 47))


@pytest.fixture
def mrcfile(missing):
    try:
        import mrcfile
    except ModuleNotFoundError:
        missing("mrcfile", "pip install mrcfile")
    return mrcfile


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "float32", ">i2"])
def test_a_movie_comes_back_exactly_and_in_its_type(tmp_path, dtype):
    frames = FRAMES.astype(dtype)
    write_mrc(tmp_path / "movie.mrc", frames)
    found = open_mrc(tmp_path / "movie.mrc")
    assert found.dtype == frames.dtype.newbyteorder("<")
    assert np.array_equal(found, frames)


def test_unsigned_bytes_come_back_as_16_bit_numbers(tmp_path):
    frames = RNG.integers(200, 256, (2, 9, 11)).astype(np.uint8)
    write_mrc(tmp_path / "movie.mrc", frames)
    found = open_mrc(tmp_path / "movie.mrc")
    assert found.dtype == np.uint16
    assert np.array_equal(found, frames)


def test_frames_may_be_given_one_by_one_and_no_reader_can_change_their_pixels(tmp_path):
    write_mrc(tmp_path / "movie.mrc", iter(FRAMES.astype(np.int16)))
    assert np.array_equal(open_mrc(tmp_path / "movie.mrc"), FRAMES)
    write_mrc(tmp_path / "movie.mrc", FRAMES.astype(np.int16))
    with pytest.raises(ValueError, match="read-only"):
        open_mrc(tmp_path / "movie.mrc")[0, 0, 0] = 1


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "float32", "uint8"])
def test_mrcfile_finds_a_valid_stack_with_the_same_pixels(tmp_path, mrcfile, dtype):
    path = tmp_path / "movie.mrc"
    write_mrc(path, FRAMES.astype(dtype))
    assert mrcfile.validate(path)
    with mrcfile.open(path) as file:
        assert file.is_image_stack()
        assert np.array_equal(file.data, FRAMES)


def test_what_mrcfile_writes_is_read_too(tmp_path, mrcfile):
    with mrcfile.new(tmp_path / "movie.mrc", FRAMES.astype(np.int16)) as file:
        file.set_extended_header(np.zeros(64, "V1"))
    assert np.array_equal(open_mrc(tmp_path / "movie.mrc"), FRAMES)


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        (np.zeros((1, 2, 2), np.float64), "float64"),
        ([], "at least one"),
        ([np.zeros((2, 2), np.int8), np.zeros((2, 3), np.int8)], "does not fit"),
        ([np.zeros((2, 2), np.int8), np.zeros((2, 2), np.int16)], "does not fit"),
        (np.zeros((4, 4), np.int8), "does not fit"),
    ],
)
def test_what_is_no_movie_is_refused(tmp_path, frames, said):
    with pytest.raises(ValueError, match=said):
        write_mrc(tmp_path / "movie.mrc", frames)


def _damaged(path, offset, content):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


@pytest.mark.parametrize(
    ("offset", "content", "said"),
    [
        (208, b"PAM ", "not a little-endian"),
        (212, b"\x11\x11", "not a little-endian"),
        (12, b"\x04", "mode 4"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, offset, content, said):
    path = tmp_path / "movie.mrc"
    write_mrc(path, FRAMES.astype(np.int16))
    _damaged(path, offset, content)
    with pytest.raises(BadInput, match=said):
        open_mrc(path)


@pytest.mark.parametrize(("keep", "said"), [(1000, "too short"), (2000, "cut short")])
def test_a_file_that_is_cut_short_is_refused(tmp_path, keep, said):
    path = tmp_path / "movie.mrc"
    write_mrc(path, FRAMES.astype(np.int16))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BadInput, match=said):
        open_mrc(path)
