"""MRC movies, and what the field's own reader finds in them."""

import numpy as np
import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.movieformats.mrc import open_mrc, write_mrc
from refusals import refused

RNG = np.random.default_rng(0)
FRAMES = RNG.integers(0, 100, (5, 30, 47))


@pytest.fixture
def mrcfile(missing):
    try:
        import mrcfile
    except ModuleNotFoundError:
        missing("mrcfile", "pip install mrcfile")
    return mrcfile


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "float32", ">i2", "uint8"])
def test_a_movie_comes_back_exactly_in_its_type_or_16_bits_and_cannot_be_changed(tmp_path, dtype):
    frames = (FRAMES + 150 * (dtype == "uint8")).astype(dtype)
    write_mrc(tmp_path / "movie.mrc", iter(frames))
    found = open_mrc(tmp_path / "movie.mrc")
    assert found.dtype == (np.uint16 if dtype == "uint8" else frames.dtype.newbyteorder("<"))
    assert np.array_equal(found, frames)
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0, 0] = 1


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


@pytest.mark.parametrize(
    ("offset", "content", "keep"),
    [
        (208, b"PAM ", None),
        (212, b"\x11\x11", None),
        (12, b"\x04", None),
        (0, b"", 1000),
        (0, b"", 2000),
    ],
    ids=str,
)
def test_a_file_of_another_kind_or_cut_short_is_refused(tmp_path, offset, content, keep):
    path = tmp_path / "movie.mrc"
    write_mrc(path, FRAMES.astype(np.int16))
    whole = path.read_bytes()
    path.write_bytes((whole[:offset] + content + whole[offset + len(content) :])[:keep])
    with refused(BadInput):
        open_mrc(path)
