"""MRC movies, as mrcfile finds them."""

import mrcfile
import numpy as np
import pytest

from pyscale_stages.movieformats.codecs import HEADER_BYTES, write_mrc

FRAMES = np.random.default_rng(0).integers(0, 100, (5, 30, 47))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "float32", "uint8"])
def test_a_movie_is_a_valid_stack_of_the_same_pixels_in_their_type_or_16_bits(tmp_path, dtype):
    path = tmp_path / "movie.mrc"
    frames = (FRAMES + 150 * (dtype == "uint8")).astype(dtype)
    write_mrc(path, iter(frames))
    assert mrcfile.validate(path)
    with mrcfile.open(path) as file:
        assert file.is_image_stack()
        assert file.data.dtype == ("uint16" if dtype == "uint8" else dtype)
        assert np.array_equal(file.data, frames)
        assert path.stat().st_size == HEADER_BYTES + file.data.nbytes


def test_the_same_frames_give_the_same_file_at_any_time(tmp_path):
    write_mrc(tmp_path / "movie.mrc", FRAMES.astype(np.int16))
    with mrcfile.open(tmp_path / "movie.mrc") as file:
        assert file.get_labels() == []
