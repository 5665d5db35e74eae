"""When links were probably cut at a limit: sentences for the user, with what to raise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyscale_stages.track.detections import Detections, Ints
from pyscale_stages.track.distances import Distances

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


def cut_links(detections: Detections, links: Ints, distances: Distances) -> Iterator[str]:
    """Yield a sentence for each limit that many links nearly reach."""
    earlier, later = links.T
    lengths_px = np.hypot(
        detections.y_px[later] - detections.y_px[earlier],
        detections.x_px[later] - detections.x_px[earlier],
    )
    divides = np.bincount(earlier, minlength=len(detections))[earlier] > 1
    moves = ~divides & (detections.frame[later] - detections.frame[earlier] == 1)
    for what, chosen, limit, many in (
        ("moves between two frames", moves, "max_distance_px", MANY_MOVES),
        ("daughters of divisions", divides, "splitting_distance_px", MANY_DIVISIONS),
    ):
        limit_px = getattr(distances, limit)
        near = lengths_px[chosen] > OUTER_SHARE * limit_px
        if len(near) >= FEWEST_LINKS and near.mean() > many:
            yield (
                f"{near.mean():.0%} of the {what} are nearly as far as the limit of "
                f"{limit_px:.1f} px, so farther ones were probably cut: raise {limit}"
            )


def unlinked_cells(n_cells: int, n_links: int, remedy: str) -> str | None:
    """Say that most cells have no link to a frame before, or None.

    Parameters
    ----------
    n_cells, n_links : int
        Cells after the first frame that was read, and links to these.
    remedy : str
        What to do, after a colon.
    """
    if n_cells < FEWEST_LINKS or n_links > MANY_UNLINKED * n_cells:
        return None
    return (
        f"{1 - n_links / n_cells:.0%} of the cells are linked to none before, as if cells moved "
        f"farther than a link may reach: {remedy}"
    )
