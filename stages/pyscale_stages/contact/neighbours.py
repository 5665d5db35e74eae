"""Neighbourhood of cells from their centroids: Delaunay edges and the nearest cell."""

from __future__ import annotations

from itertools import chain

import numpy as np
import numpy.typing as npt

TIE = 1e-9
"""Relative difference of distances that may be rounding: it is looked at again."""

Points = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def delaunay_edges(points: Points) -> Indices:
    """Pairs of points that are neighbours in the Delaunay triangulation.

    Points on one line have no triangles: their neighbours are the next on the line, to which
    the triangulation shrinks. A point that coincides with another is a neighbour of that one
    alone. Where four or more points lie on one circle several triangulations are right, and
    the one of scipy (Qhull) is taken.

    `points`: shape (n, 2). Returns: shape (edges, 2); indices a < b, in order.
    """
    from scipy.spatial import Delaunay, QhullError

    if len(points) < 3:
        return _chain(points)
    try:
        triangulation = Delaunay(points)
    except QhullError:
        return _chain(points)
    corners = triangulation.simplices
    # Points that Qhull left out come with the nearest that it kept.
    sides = [corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]
    edges = np.concatenate([*sides, triangulation.coplanar[:, [0, 2]]]).astype(np.int64)
    return _in_order(edges)


def nearest(points: Points, candidates: Points, *, same: bool) -> tuple[Indices, Points]:
    """Nearest candidate of each point, the first of equals, and how far it is.

    Computed here in float64 by a tree and not on the device: pyclesperanto 0.25.1 computes a
    distance matrix n times over (each entry's work item fills the whole row), which at 512
    cells takes 0.4 s a frame and at 5000 would take minutes.

    `points`: shape (n, 2). `candidates`: shape (m, 2). Returns `index`: shape (n,); -1 where there
    is no candidate, `distance_px`: shape (n,); infinite where there is none.
    """
    from scipy.spatial import cKDTree

    # Among its like, a point that is alone has no nearest.
    if len(candidates) <= same:
        return np.full(len(points), -1), np.full(len(points), np.inf)
    tree = cKDTree(candidates)
    # Among points a point finds itself, or its like at the same place, before its neighbour.
    found = np.asarray(tree.query(points, k=[2 if same else 1])[0])[:, 0]
    # The tree names any of equals: all that are as near are fetched, in their order.
    as_near = tree.query_ball_point(points, found * (1 + TIE), return_sorted=True)
    point = np.repeat(np.arange(len(points)), [len(near) for near in as_near])
    candidate = np.fromiter(chain.from_iterable(as_near), np.int64, len(point))
    if same:
        others = point != candidate
        point, candidate = point[others], candidate[others]
    distance = np.sqrt(((points[point] - candidates[candidate]) ** 2).sum(axis=1))
    starts = np.searchsorted(point, np.arange(len(points)))
    least = np.minimum.reduceat(distance, starts)
    equal = np.flatnonzero(distance == least[point])
    _, first = np.unique(point[equal], return_index=True)
    return candidate[equal[first]], least


def _chain(points: Points) -> Indices:
    """Join points that lie on one line with the next along it."""
    if len(points) < 2:
        return np.empty((0, 2), dtype=np.int64)
    _, _, axes = np.linalg.svd(points - points.mean(axis=0))
    order = np.argsort(points @ axes[0], kind="stable")
    return _in_order(np.stack([order[:-1], order[1:]], axis=1))


def _in_order(edges: Indices) -> Indices:
    """Each pair once and with the smaller index first, sorted."""
    return np.unique(np.sort(edges, axis=1), axis=0)
