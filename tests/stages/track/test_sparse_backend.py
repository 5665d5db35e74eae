import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pyscale_stages.movie import Movie
from pyscale_stages.track import laptrack_backend, sparse_backend
from pyscale_stages.track.detections import Detections, detect, joined
from pyscale_stages.track.distances import Distances, distances_of
from pyscale_stages.track.params import TrackParams


def made_cells(random, n_frames, n_cells, *, on_a_grid):
    """Cells that wander, divide and are lost, frame by frame; some frames are empty."""
    side_px = 30 * np.sqrt(n_cells)
    centres = random.uniform(0, side_px, (n_cells, 2))
    for _ in range(n_frames):
        daughters = centres[random.random(len(centres)) < 0.04]
        moved = centres + random.normal(0, 2, centres.shape)
        centres = np.concatenate([moved, daughters + random.normal(0, 7, daughters.shape)])
        seen = centres[random.random(len(centres)) > random.choice([0.05, 0.05, 0.3, 1])]
        # Of pixels that are whole numbers many are equally far apart.
        yield np.round(seen / 3) * 3 if on_a_grid else seen


def detections_of(frames, start):
    cells = np.concatenate(frames)
    counts = [len(frame) for frame in frames]
    labels = np.concatenate([np.arange(count) + 1 for count in counts])
    return Detections(np.repeat(np.arange(start, start + len(frames)), counts), labels, *cells.T)


def assert_same_links(cells, start, stop, params, distances):
    expected = laptrack_backend.link(cells, start, stop, params, distances)
    np.testing.assert_array_equal(sparse_backend.link(cells, params, distances), expected)
    return expected


@given(
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.integers(1, 25),
    st.booleans(),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([(15, 15, 15), (8, 20, 12), (20, 6, 9)]),
)
@settings(max_examples=60, deadline=None)
def test_links_are_laptracks(seed, n_frames, n_cells, on_a_grid, gap_frames, splitting, reach_px):
    random = np.random.default_rng(seed)
    cells = detections_of(list(made_cells(random, n_frames, n_cells, on_a_grid=on_a_grid)), 3)
    assume(len(cells))
    params = TrackParams(gap_frames=gap_frames, splitting=splitting)
    assert_same_links(cells, 3, 3 + n_frames, params, Distances(*reach_px))


@pytest.mark.slow
@pytest.mark.parametrize("gap_frames", [1, 2, 5])
def test_links_of_a_real_movie_are_laptracks(hela_labels, gap_frames):
    labels = Movie.open(hela_labels)
    cells = joined(detect(image, t) for t, image in enumerate(labels.frames(0, 92, channel=0)))
    params = TrackParams(gap_frames=gap_frames)
    links = assert_same_links(cells, 0, 92, params, distances_of(labels, params))
    assert len(links) > 8000
    assert (np.bincount(links[:, 0]) == 2).sum() > 50


def test_cells_in_one_place_are_no_obstacle():
    params, near = TrackParams(), Distances(5, 5, 5)
    still = Detections(np.arange(3), np.ones(3, np.int64), np.zeros(3), np.zeros(3))
    assert sparse_backend.link(still, params, near).tolist() == [[0, 1], [1, 2]]
