"""Limits on how far cells move, stay lost and divide, and warnings of links cut there."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pyscale_stages.measured import Warned
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.task import Task
from pyscale_stages.track.lineage import Detections, Ints
from pyscale_stages.track.params import TrackParams

DISTANCES_FILE = "distances.json"
OUTER_SHARE = 0.9
"""Links longer than this share of the limit are near it."""
MANY_MOVES = 0.02
"""Share of moves near the limit. Real moves that the limit holds gave less than 0.004, those of
which it cuts some 0.01 to 0.05."""
MANY_DIVISIONS = 0.15
"""Share of links from mothers near the limit: real ones gave less than 0.12, cut ones 0.15 to 0.5,
as daughters are pushed as far from their mother as a cell is long."""
MANY_UNLINKED = 0.5
FEWEST_LINKS = 20
"""A share of fewer says nothing."""


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
    """Distances by the parameters or, in every window, by the movie's first frame with cells."""
    moving, gap = params.max_distance_px, params.gap_distance_px
    splitting = params.splitting_distance_px
    if moving and gap and splitting:
        return Distances(moving, gap, splitting)
    frames = (labels.read(frame, frame + 1, channel=0)[0] for frame in range(labels.n_frames))
    diameter = median_diameter_px(next(frame for frame in frames if frame.any()))
    # On real and simulated nuclei a longer reach found as many divisions and more false ones.
    return Distances(moving or diameter, gap or diameter, splitting or diameter, diameter)


def median_diameter_px(labels: Pixels) -> float:
    """Median over the cells of a frame, one at least: the diameter of a disc of a cell's area."""
    _, areas_px2 = np.unique(labels[labels != 0], return_counts=True)
    return 2 * math.sqrt(float(np.median(areas_px2)) / math.pi)


def link_warnings(
    detections: Detections, links: Ints, distances: Distances | None
) -> Iterator[Warned]:
    """Count the links that nearly reach each limit, and the cells without one to a frame before."""
    remedy = 'choose backend = "laptrack"'
    if distances is not None:
        yield from _cut_links(detections, links, distances)
        remedy = f"raise max_distance_px, which is {distances.max_distance_px:.1f}"
    if len(detections):
        later_cells = int((detections.frame > detections.frame[0]).sum())
        yield Warned(
            code="unlinked-cells",
            text="have no link to an earlier cell, as if cells moved farther than a link may "
            f"reach: {remedy}",
            concerned=later_cells - len(links),
            seen=later_cells,
            unit="cells",
            above=MANY_UNLINKED,
            fewest=FEWEST_LINKS,
            doubts_result=True,
        )


def _cut_links(detections: Detections, links: Ints, distances: Distances) -> Iterator[Warned]:
    earlier, later = links.T
    lengths_px = np.hypot(
        detections.y_px[later] - detections.y_px[earlier],
        detections.x_px[later] - detections.x_px[earlier],
    )
    divides = np.bincount(earlier, minlength=len(detections))[earlier] > 1
    moves = ~divides & (detections.frame[later] - detections.frame[earlier] == 1)
    for unit, chosen, limit, many in (
        ("moves between two frames", moves, "max_distance_px", MANY_MOVES),
        ("daughters of divisions", divides, "splitting_distance_px", MANY_DIVISIONS),
    ):
        limit_px = getattr(distances, limit)
        near = lengths_px[chosen] > OUTER_SHARE * limit_px
        yield Warned(
            code=f"{limit.removesuffix('_px').replace('_', '-')}-reached",
            text=f"are nearly as far as the limit of {limit_px:.1f} px, so farther ones were "
            f"probably cut: raise {limit}",
            concerned=int(near.sum()),
            seen=len(near),
            unit=unit,
            above=many,
            fewest=FEWEST_LINKS,
            doubts_result=True,
        )


def write_distances(task: Task, distances: Distances) -> None:
    """Write the distances that limited the links."""
    with task.writing(DISTANCES_FILE) as path:
        path.write_text(json.dumps(asdict(distances), indent=2) + "\n", encoding="utf-8")


def copy_distances(task: Task, windows: Sequence[Path]) -> None:
    """Copy the distances of the windows, which are the same in all that have a cell."""
    for folder in windows:
        if (folder / DISTANCES_FILE).is_file():
            with task.writing(DISTANCES_FILE) as path:
                path.write_bytes((folder / DISTANCES_FILE).read_bytes())
            return
