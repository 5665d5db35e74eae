"""The part of frames that the camera saw is found beside them, or refused in one sentence."""

import numpy as np
import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.validarea import VALID_FILE, beside
from refusals import refused

SEEN = np.ones((3, 5, 7), np.uint8)


@pytest.fixture
def frames(tmp_path):
    path = tmp_path / "frames.ome.tif"
    write_movie(path, SEEN.astype(np.uint16), "TYX")
    return path


def test_the_valid_area_is_read_beside_the_frames_and_has_none_itself(frames):
    assert beside(Movie.open(frames)) is None
    seen = SEEN.copy()
    seen[1, :2] = 0
    write_movie(frames.parent / VALID_FILE, seen, "TYX")
    area = beside(Movie.open(frames))
    np.testing.assert_array_equal(area.read(1, 2, channel=0), seen[1:2])
    assert beside(area) is None


@pytest.mark.parametrize(
    "other",
    [np.ones((3, 2, 5, 7), np.uint8), b"no image", SEEN[:2], SEEN[:, :4]],
    ids=["4 axes", "text", "fewer frames", "narrower"],
)
def test_what_is_no_valid_area_or_that_of_another_movie_is_refused(frames, other):
    if isinstance(other, bytes):
        (frames.parent / VALID_FILE).write_bytes(other)
    else:
        write_movie(frames.parent / VALID_FILE, other, "TYX" if other.ndim == 3 else "TCYX")
    with refused(BadInput):
        beside(Movie.open(frames))
