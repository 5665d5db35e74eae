"""Limits on how far cells move, stay lost and divide: given by the user, or from their size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.track.params import TrackParams

DISTANCES_FILE = "distances.json"


@dataclass(frozen=True)
class Distances:
    """Largest distances between the centroids of linked cells, in pixels.

    `max_distance_px`, `gap_distance_px`, `splitting_distance_px`: as the parameters of the same
    names. `median_diameter_px`: of the cells that a distance was taken from; None where the user
    gave all three.
    """

    max_distance_px: float
    gap_distance_px: float
    splitting_distance_px: float
    median_diameter_px: float | None = None


def distances_of(labels: Movie, params: TrackParams) -> Distances:
    """Distances that the parameters give, or the first frame with cells.

    The frame is that of the movie and not of a window, so that every window of a movie works
    with the same distances.

    `labels`: with a cell in one frame at least, where a distance is not given.
    """
    moving, gap = params.max_distance_px, params.gap_distance_px
    splitting = params.splitting_distance_px
    if moving and gap and splitting:
        return Distances(moving, gap, splitting)
    frames = (labels.read(frame, frame + 1, channel=0)[0] for frame in range(labels.n_frames))
    diameter = median_diameter_px(next(frame for frame in frames if frame.any()))
    # On real and simulated nuclei a longer reach found as many divisions and more false ones.
    return Distances(moving or diameter, gap or diameter, splitting or diameter, diameter)


def median_diameter_px(labels: Pixels) -> float:
    """Median over the cells of a frame: the diameter of a disc of a cell's area.

    `labels`: shape (Y, X); with one cell at least; 0 is background.
    """
    _, areas_px2 = np.unique(labels[labels != 0], return_counts=True)
    return 2 * math.sqrt(float(np.median(areas_px2)) / math.pi)
