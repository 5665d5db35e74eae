"""Linking with laptrack."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pyscale_stages.measure import cgroups
from pyscale_stages.track.detections import Detections, Ints
from pyscale_stages.track.distances import Distances
from pyscale_stages.track.lineage import by_later
from pyscale_stages.track.params import TrackParams

UNLINKED_COST_FACTOR = 1.05
"""An unlinked end costs this much more than the farthest link, as in laptrack's first step."""
BYTES_A_PAIR = 9
"""Of laptrack's matrix of all cells of a frame by all of the next: a double, and one mark each."""


def link(
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
