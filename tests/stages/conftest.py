"""Movies and folders that stages run on, and the stage itself."""

import os

import numpy as np
import pytest

from pyscale_stages.moviewriter import write_movie
from smallstages import SMALL
from stagetasks import Bench

# ITK reads this once, when ANTs is first used in the test process; more threads, other sums.
os.environ["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"] = "1"


@pytest.fixture
def movie_of(tmp_path):
    """Write frames as a movie with named axes."""

    def write(frames, name="movie.ome.tif", axes="TYX"):
        write_movie(tmp_path / name, np.asarray(frames), axes)
        return tmp_path / name

    return write


@pytest.fixture
def place(tmp_path):
    """An empty folder to measure."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def bench(request, tmp_path):
    """The stage that the folder of tests is named for, small where there are such parameters."""
    stage = request.path.parent.name
    return Bench(stage, tmp_path, **SMALL.get(stage, {}))
