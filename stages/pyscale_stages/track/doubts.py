"""Warnings of links that were probably cut at a limit: counted so that windows add up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyscale_stages.track.detections import Detections, Ints
from pyscale_stages.track.distances import Distances
from pyscale_stages.warned import Warned

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


def cut_links(detections: Detections, links: Ints, distances: Distances) -> Iterator[Warned]:
    """Count the links that nearly reach each limit."""
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


def unlinked_cells(n_cells: int, n_links: int, remedy: str) -> Warned:
    """Count the cells that have no link to a frame before."""
    return Warned(
        code="unlinked-cells",
        text="have no link to an earlier cell, as if cells moved farther than a link may reach: "
        f"{remedy}",
        concerned=n_cells - n_links,
        seen=n_cells,
        unit="cells",
        above=MANY_UNLINKED,
        fewest=FEWEST_LINKS,
        doubts_result=True,
    )
