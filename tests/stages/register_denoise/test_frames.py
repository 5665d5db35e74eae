import numpy as np
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.reading import Reading
from pyscale_stages.register_denoise import frames
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from refusals import refused

DEFAULTS = RegisterDenoiseParams()


def movie_of(path, pixels, axes):
    tifffile.imwrite(path, pixels, photometric="minisblack", metadata={"axes": axes})
    return Movie.open(path, reading=Reading(axes=axes))


def test_integers_are_rounded_and_clipped_to_their_type_and_do_not_overflow():
    image = np.array([-3.0, 0.4, 0.6, 254.6, 70000.0], np.float32)
    assert frames.as_dtype(image, np.dtype(np.uint8)).tolist() == [0, 0, 1, 255, 255]
    assert frames.as_dtype(image, np.dtype(np.uint16)).tolist() == [0, 0, 1, 255, 65535]
    image = np.array([5e9, -5e9], np.float32)
    limits = np.iinfo(np.uint32)
    assert frames.as_dtype(image, np.dtype(np.uint32)).tolist() == [limits.max, limits.min]


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_pixel_types_without_a_counterpart_are_refused(tmp_path, dtype):
    movie = movie_of(tmp_path / "m.tif", np.zeros((2, 64, 64), dtype), "TYX")
    with refused(BadInput):
        frames.refuse_unusable(movie, DEFAULTS)
