"""Movies that stages run on."""

import os

import numpy as np
import pytest

from pyscale_stages.moviewriter import write_movie

# ITK reads this once, when ANTs is first used in the test process; more threads, other sums.
os.environ["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"] = "1"


@pytest.fixture
def movie_of(tmp_path):
    """Write frames as a movie with named axes."""

    def write(frames, name="movie.ome.tif", axes="TYX"):
        write_movie(tmp_path / name, np.asarray(frames), axes)
        return tmp_path / name

    return write
