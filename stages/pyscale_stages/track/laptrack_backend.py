"""Linking with laptrack."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pyscale_stages.track.detections import Detections, Ints
from pyscale_stages.track.lineage import NO_LINKS, by_later
from pyscale_stages.track.params import TrackParams

UNLINKED_COST_FACTOR = 1.05
"""An unlinked end costs this much more than the farthest link, as in laptrack's first step."""


def link(detections: Detections, start: int, stop: int, params: TrackParams) -> Ints:
    """Link the detections of a window.

    Parameters
    ----------
    detections : Detections
        All within the frames start to stop (excluded).
    start, stop : int
        The window.
    params : TrackParams

    Returns
    -------
    ndarray of int64, shape (m, 2)
        Earlier and later detection of each link, as positions in `detections`.
    """
    if len(detections) == 0:
        return NO_LINKS
    from laptrack import LapTrack

    first = np.searchsorted(detections.frame, np.arange(start, stop + 1))
    points = np.stack([detections.y_px, detections.x_px], axis=1)
    by_frame = [points[low:high] for low, high in pairwise(first)]
    graph = LapTrack(**settings(params)).predict(by_frame)
    links = np.array(
        [(first[f0] + i0, first[f1] + i1) for (f0, i0), (f1, i1) in graph.edges()],
        dtype=np.int64,
    ).reshape(-1, 2)
    return by_later(links)


def settings(params: TrackParams) -> dict[str, Any]:
    """Arguments of `laptrack.LapTrack`; costs are squared distances.

    laptrack closes gaps and finds splits in one assignment over the whole window, in which
    an end that stays unlinked costs, by default, a percentile of all costs in the window:
    every link then depends on every other. Here that cost is fixed from the distances
    alone, so a link depends only on the cells around it, and windows decide as the whole
    movie does.
    """
    link_cost = params.max_distance_px**2
    gap_cost = params.gap_distance_px**2
    unlinked = UNLINKED_COST_FACTOR * max(link_cost, gap_cost)
    return {
        "metric": "sqeuclidean",
        "cutoff": link_cost,
        "gap_closing_metric": "sqeuclidean",
        "gap_closing_cutoff": gap_cost if params.gap_frames > 1 else False,
        "gap_closing_max_frame_count": params.gap_frames,
        "splitting_metric": "sqeuclidean",
        "splitting_cutoff": link_cost if params.splitting else False,
        "merging_cutoff": False,
        "segment_start_cost": unlinked,
        "segment_end_cost": unlinked,
        "no_splitting_cost": unlinked,
        "no_merging_cost": unlinked,
    }
