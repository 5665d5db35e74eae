"""Linking by laptrack, or by its two steps on sparse graphs: the same links, many times faster.

laptrack measures each cell against all of the next frame, and each end of a track against all
beginnings, row by row in pandas. On sparse graphs k-d trees find the pairs within reach; costs,
and what an unlinked end costs, are laptrack's, down to their single precision, and so is the
solver, of SciPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.measure import cgroups
from pyscale_stages.track.distances import Distances
from pyscale_stages.track.lineage import NO_LINKS, Detections, Ints, by_later
from pyscale_stages.track.params import TrackParams

UNLINKED_COST_FACTOR = 1.05
"""An unlinked end costs this much more than the farthest link, as in laptrack's first step."""
BYTES_A_PAIR = 9
"""Of laptrack's matrix of all cells of a frame by all of the next: a double, and one mark each."""


def link_by_laptrack(
    detections: Detections, start: int, stop: int, params: TrackParams, distances: Distances
) -> Ints:
    """Link the detections of a window: earlier and later one of each link, as positions, (m, 2)."""
    from laptrack import LapTrack

    first = np.searchsorted(detections.frame, np.arange(start, stop + 1))
    points = np.stack([detections.y_px, detections.x_px], axis=1)
    by_frame = [points[low:high] for low, high in pairwise(first)]
    graph = LapTrack(**settings(params, distances)).predict(by_frame)
    links = np.array(
        [(first[f0] + i0, first[f1] + i1) for (f0, i0), (f1, i1) in graph.edges()], dtype=np.int64
    ).reshape(-1, 2)
    return by_later(without_lone_daughters(links, detections, params, distances))


def without_lone_daughters(
    links: Ints, detections: Detections, params: TrackParams, distances: Distances
) -> Ints:
    """Drop moves that are farther than a cell may move."""
    # laptrack takes the end of a track for a mother, too, which may lie as far as a daughter.
    earlier, later = links.T
    apart_px2 = (detections.y_px[later] - detections.y_px[earlier]) ** 2
    apart_px2 += (detections.x_px[later] - detections.x_px[earlier]) ** 2
    farthest_px = distances.max_distance_px
    if params.gap_frames > 1:
        farthest_px = max(farthest_px, distances.gap_distance_px)
    is_alone = np.bincount(earlier, minlength=len(detections))[earlier] == 1
    return np.asarray(links[~is_alone | (apart_px2 < farthest_px**2)])


def refuse_beyond_memory(detections: Detections) -> None:
    """Refuse frames with more cells than laptrack has memory for."""
    cells = np.bincount(detections.frame - detections.frame[0])
    cgroups.refuse_beyond_memory(
        BYTES_A_PAIR * int((cells[:-1] * cells[1:]).max(initial=0)),
        f"linking frames of {cells.max()} cells with laptrack",
        'choose backend = "sparse", which finds the same links in little memory',
    )


def settings(params: TrackParams, distances: Distances) -> dict[str, Any]:
    """Arguments of `laptrack.LapTrack`; costs are squared distances.

    laptrack closes gaps and finds splits in one assignment over the whole window, in which
    an end that stays unlinked costs, by default, a percentile of all costs in the window:
    every link then depends on every other. Here that cost is fixed from the distances
    alone, so a link depends only on the cells around it, and windows decide as the whole
    movie does.
    """
    link_cost = distances.max_distance_px**2
    gap_cost = distances.gap_distance_px**2
    splitting_cost = distances.splitting_distance_px**2 if params.splitting else 0.0
    unlinked = UNLINKED_COST_FACTOR * max(link_cost, gap_cost, splitting_cost)
    return {
        "metric": "sqeuclidean",
        "cutoff": link_cost,
        "gap_closing_metric": "sqeuclidean",
        "gap_closing_cutoff": gap_cost if params.gap_frames > 1 else False,
        "gap_closing_max_frame_count": params.gap_frames,
        "splitting_metric": "sqeuclidean",
        "splitting_cutoff": splitting_cost or False,
        "merging_cutoff": False,
        "segment_start_cost": unlinked,
        "segment_end_cost": unlinked,
        "no_splitting_cost": unlinked,
        "no_merging_cost": unlinked,
    }


LEAST_COST = 1e-6
"""Added to every cost, as SciPy takes a cost of 0 for none."""
WIDER = 1 + 1e-9
"""Trees are asked a little farther, and distances compared as laptrack computes them."""

Costs = npt.NDArray[np.float32]
Points = npt.NDArray[np.float64]


def link_sparsely(detections: Detections, params: TrackParams, distances: Distances) -> Ints:
    """Link the detections of a window: earlier and later one of each link, as positions, (m, 2)."""
    frames = _Frames(detections)
    costs = settings(params, distances)
    moves = frames.moves(costs["cutoff"])
    links = np.concatenate([moves, _gaps_and_splits(frames, moves, costs)])
    return by_later(without_lone_daughters(links, detections, params, distances))


def import_scipy() -> None:
    """Import what `link` uses, so that none of it is computing."""
    import scipy.sparse.csgraph
    import scipy.spatial  # noqa: F401


class _Frames:
    """Detections, which stand in the order of their frames, and those near each other."""

    def __init__(self, detections: Detections) -> None:
        self.points: Points = np.stack([detections.y_px, detections.x_px], axis=1)
        self.frame = detections.frame
        self.numbers = range(int(self.frame[0]), int(self.frame[-1]) + 1)

    def moves(self, cutoff: float) -> Ints:
        """Link each frame to the next."""
        found = [NO_LINKS]
        every = np.arange(len(self.frame))
        for pairs, costs in self.all_near(every, every, 1, cutoff):
            unlinked = costs.max() * UNLINKED_COST_FACTOR or LEAST_COST
            found.append(_assigned(pairs, costs, unlinked, corner=min(costs.min(), unlinked)))
        return np.concatenate(found)

    def near(
        self, earlier: Ints, later: Ints, frames: tuple[int, int], cutoff: float
    ) -> tuple[Ints, Costs]:
        """Pairs of given detections of two frames, and their squared distances."""
        from scipy.spatial import KDTree

        chosen = []
        for which, frame in zip((earlier, later), frames, strict=True):
            of_frame = np.searchsorted(self.frame, (frame, frame + 1))
            chosen.append(which[slice(*np.searchsorted(which, of_frame))])
        if not all(map(len, chosen)):
            return NO_LINKS, np.zeros(0, np.float32)
        first, second = (KDTree(self.points[which]) for which in chosen)
        within = first.sparse_distance_matrix(
            second, np.sqrt(cutoff) * WIDER, output_type="ndarray"
        )
        pairs = np.stack([chosen[0][within["i"]], chosen[1][within["j"]]], axis=1)
        apart = self.points[pairs[:, 0]] - self.points[pairs[:, 1]]
        costs = apart[:, 0] ** 2 + apart[:, 1] ** 2
        pairs, costs = pairs[costs < cutoff], costs[costs < cutoff]
        return pairs, costs.astype(np.float32)

    def all_near(
        self, earlier: Ints, later: Ints, apart: int, cutoff: float
    ) -> Iterator[tuple[Ints, Costs]]:
        """Pairs of given detections of all frames so far apart, where there are any."""
        for frame in self.numbers[:-apart]:
            pairs, costs = self.near(earlier, later, (frame, frame + apart), cutoff)
            if len(pairs):
                yield pairs, costs


def _gaps_and_splits(frames: _Frames, moves: Ints, settings: dict[str, Any]) -> Ints:
    """Link ends of tracks to beginnings after a gap, and beginnings to a mother in mid-track."""
    every = np.arange(len(frames.frame))
    starts, ends = np.setdiff1d(every, moves[:, 1]), np.setdiff1d(every, moves[:, 0])
    track = every.copy()
    for earlier, later in moves.tolist():
        track[later] = track[earlier]
    # Tracks count by where they begin, as in laptrack: of equal costs the order decides. Mothers
    # come behind them.
    number_of_end, number_of_mother = track, every + len(every)
    detection = np.concatenate([every, every])
    detection[number_of_end[ends]] = ends
    kinds = [(every, number_of_mother, 1, settings["splitting_cutoff"])]
    kinds += [
        (ends, number_of_end, apart, settings["gap_closing_cutoff"])
        for apart in range(1, settings["gap_closing_max_frame_count"] + 1)
    ]
    found = [
        (np.stack([number[pairs[:, 0]], pairs[:, 1]], axis=1), costs)
        for candidates, number, apart, cutoff in kinds
        if cutoff
        for pairs, costs in frames.all_near(candidates, starts, apart, cutoff)
    ]
    if not found:
        return NO_LINKS
    pairs, costs = (np.concatenate(part) for part in zip(*found, strict=True))
    unlinked = settings["segment_end_cost"]
    chosen = _assigned(pairs, costs, unlinked, corner=unlinked)
    return np.stack([detection[chosen[:, 0]], chosen[:, 1]], axis=1)


def _assigned(pairs: Ints, costs: Costs, unlinked: float, *, corner: float) -> Ints:
    """The pairs of least cost in which each end stands once at most.

    As in laptrack, each end may stay unlinked at a cost, and where both of a pair do, `corner` is
    the cost of what then completes the matrix.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    order = np.lexsort(pairs.T[::-1])
    pairs, costs = pairs[order], costs[order]
    # What has no pair stays alone, and is not asked.
    (earlier, row), (later, column) = (np.unique(ends, return_inverse=True) for ends in pairs.T)
    n_rows, n_columns = len(earlier), len(later)
    alone_row, alone_column = np.arange(n_rows), np.arange(n_columns)
    rows = np.concatenate([row, alone_row, n_rows + alone_column, n_rows + column])
    columns = np.concatenate([column, n_columns + alone_row, alone_column, n_columns + row])
    values = np.concatenate(
        [costs, np.full(n_rows + n_columns, unlinked), np.full(len(costs), corner)]
    ).astype(np.float32)
    ends = (rows.astype(np.int32), columns.astype(np.int32))
    graph = coo_array((values + np.float32(LEAST_COST), ends)).tocsr()
    row, column = min_weight_full_bipartite_matching(graph)
    is_pair = (row < n_rows) & (column < n_columns)
    return np.stack([earlier[row[is_pair]], later[column[is_pair]]], axis=1)
