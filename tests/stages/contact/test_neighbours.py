import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from pyscale_stages.contact.tables import delaunay_edges, nearest


def edges_of(*points):
    return [tuple(edge) for edge in delaunay_edges(np.array(points).reshape(-1, 2)).tolist()]


@pytest.mark.parametrize(
    ("points", "edges"),
    [
        ([], []),
        ([(3, 4)], []),
        ([(0, 0), (100, 7)], [(0, 1)]),
        # The short diagonal of a diamond is an edge and the long one is not.
        ([(0, 0), (1, 5), (0, 10), (-1, 5)], [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)]),
    ],
    ids=["none", "one", "two", "a diamond"],
)
def test_neighbours_of_a_few_cells(points, edges):
    assert edges_of(*points) == edges


@pytest.mark.parametrize("direction", [(0, 1), (1, 0), (0.3, -0.7)])
def test_cells_on_a_line_are_neighbours_of_the_next_along_it(direction):
    places = np.array([3.0, 0.0, 10.0, 1.0])
    assert edges_of(*np.outer(places, direction).tolist()) == [(0, 2), (0, 3), (1, 3)]


def test_cells_on_a_line_across_the_way_to_the_corner_are_neighbours_of_the_next_too():
    assert edges_of((103, 97), (98, 102), (99, 101), (100, 100)) == [(0, 3), (1, 2), (2, 3)]


def test_ends_of_a_line_with_float_noise_stay_apart_and_coincident_cells_are_neighbours():
    noise = np.array([1e-15, 0, -1e-15, 2e-15, 0])
    edges = edges_of(*zip(10 + noise, [40, 10, 30, 0, 20], strict=True))
    assert edges == [(0, 2), (1, 3), (1, 4), (2, 4)]
    square = [(0.0, 0.0), (0.0, 8.0), (9.0, 0.0), (9.0, 9.0)]
    edges = edges_of(*square, (9.0, 9.0))
    assert (3, 4) in edges
    assert {i for edge in edges for i in edge} == {0, 1, 2, 3, 4}
    assert edges_of((5, 5), (5, 5), (5, 5)) == [(0, 1), (1, 2)]


@given(
    arrays(
        np.float64, st.tuples(st.integers(3, 12), st.just(2)), elements=st.integers(0, 6).map(float)
    )
)
def test_every_cell_has_a_neighbour_and_every_edge_two_cells(points):
    edges = delaunay_edges(points)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert np.array_equal(np.unique(edges), np.arange(len(points)))


@given(
    arrays(
        np.float64, st.tuples(st.integers(2, 30), st.just(2)), elements=st.integers(0, 9).map(float)
    ),
    arrays(
        np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(0, 9).map(float)
    ),
)
def test_the_nearest_is_the_first_smallest_of_all_distances(points, others):
    # Thirds are rounded, so that equal distances come from unequal sums.
    for own, candidates, same in ((points / 3, points / 3, True), (points / 3, others / 3, False)):
        all_distances = cdist(own, candidates)
        if same:
            np.fill_diagonal(all_distances, np.inf)
        index, distance = nearest(own, candidates, same=same)
        assert index.tolist() == all_distances.argmin(axis=1).tolist()
        assert distance.tolist() == all_distances.min(axis=1).tolist()


def test_the_first_of_equally_near_cells_is_the_nearest_and_without_any_nothing_is():
    points = np.array([[0.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    index, distance = nearest(points, points, same=True)
    assert index.tolist() == [1, 0, 0]
    assert distance.tolist() == [2, 2, 2]
    points = np.array([[4.0, 4.0]])
    for index, distance in (
        nearest(points, points, same=True),
        nearest(points, np.empty((0, 2)), same=False),
    ):
        assert index.tolist() == [-1]
        assert distance.tolist() == [np.inf]
