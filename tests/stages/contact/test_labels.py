import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pyscale_stages.contact import labels
from pyscale_stages.contact.labels import densify, pieces
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie

EDGE = st.sampled_from([0, 1, 2, 254, 255])


@pytest.mark.slow
@given(
    arrays(np.uint8, (4, 5), elements=EDGE)
    | arrays(np.uint16, (4, 5), elements=EDGE | st.just(65_535))
    | arrays(np.int32, (4, 5), elements=EDGE | st.just(2**31 - 1))
    | arrays(np.uint32, (4, 5), elements=EDGE | st.just(2**32 - 1))
)
def test_renumbered_labels_lead_back_to_the_image(image):
    cells = densify(image)
    assert np.array_equal(np.append(np.uint32(0), cells.labels)[cells.image], image)
    assert cells.labels.tolist() == sorted({*image[image > 0].tolist()})
    assert cells.image.dtype == np.uint32
    assert cells.area_px.tolist() == [(image == label).sum() for label in cells.labels]


@pytest.mark.parametrize("label", [7, 2**32 - 1])
def test_an_image_without_background_keeps_every_cell(label):
    cells = densify(np.full((2, 3), label, dtype=np.uint32))
    assert cells.labels.tolist() == [label]
    assert (cells.image == 1).all()


def test_two_movies_share_the_memory_that_one_has_and_the_wider_sets_the_pieces(
    tmp_path, monkeypatch
):
    movies = []
    for dtype in (np.uint16, np.uint32):
        path = tmp_path / f"{np.dtype(dtype)}.ome.tif"
        write_movie(path, np.zeros((8, 4, 4), dtype), "TYX")
        movies.append(Movie.open(path))
    # Eight frames of the one, four of the other.
    monkeypatch.setattr(labels, "BLOCK_BYTES", 8 * 4 * 4 * 2)
    assert list(pieces((movies[0],), (0, 8))) == [(0, 8)]
    assert list(pieces((movies[1],), (1, 8))) == [(1, 5), (5, 8)]
    assert list(pieces((movies[0], movies[1]), (2, 7))) == [(2, 4), (4, 6), (6, 7)]
