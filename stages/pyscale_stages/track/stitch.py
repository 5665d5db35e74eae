"""Joining the tracks of windows into those of the movie.

Every window tracked some frames beyond both of its ends. A link belongs to the window that
holds its later detection, which has therefore seen at least the overlap on both sides of it.
Each detection then has at most one predecessor, whatever the windows decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pyscale_stages.contract import Window
from pyscale_stages.errors import BadInput
from pyscale_stages.track.detections import Detections, Ints, joined
from pyscale_stages.track.lineage import links_of, read_tracks


@dataclass(frozen=True)
class Stitched:
    """Detections of the whole movie, and the links that the windows gave them.

    `links`: shape (m, 2); earlier and later detection, as positions in `detections`. `agreed`:
    shape (m,); whether the window that holds the earlier detection has the link, too. `crossing`:
    links between detections of two windows. `disputed`: links between detections of two windows
    that one of these two has and the other has not.
    """

    detections: Detections
    links: Ints
    agreed: npt.NDArray[np.bool_]
    crossing: int
    disputed: int


def stitch(windows: Sequence[tuple[Path, Window]]) -> Stitched:
    """Take each detection and each link from the window that it belongs to."""
    detections = []
    by_later, by_earlier = [], []
    for folder, window in windows:
        tracks = read_tracks(folder)
        found = tracks.detections
        own = found.within(*window.frames)
        detections.append(found.where(own))
        links = links_of(tracks)
        by_later.append(found.keys[links[own[links[:, 1]]]])
        by_earlier.append(found.keys[links[own[links[:, 0]]]])
    together = joined(detections)
    keys = np.concatenate(by_later)
    unknown = ~np.isin(keys[:, 0], together.keys)
    if unknown.any():
        raise BadInput(
            f"two windows hold different cells of frame {keys[unknown, 0][0] >> 32}: "
            "they were computed from different labels, run the windows again on one movie"
        )
    given, seen = (set(map(tuple, links.tolist())) for links in (keys, np.concatenate(by_earlier)))
    window_ends = [window.frames[1] for _, window in windows]
    window_of = np.searchsorted(window_ends, together.frame, side="right")
    links = np.searchsorted(together.keys, keys)
    return Stitched(
        detections=together,
        links=links,
        agreed=np.array([tuple(link) in seen for link in keys.tolist()], dtype=bool),
        crossing=int((window_of[links[:, 0]] != window_of[links[:, 1]]).sum()),
        # A link within one window is in both, so these cross a border.
        disputed=len(given ^ seen),
    )


def without_forks(stitched: Stitched, *, splitting: bool) -> Ints:
    """Leave one successor to each detection whose successors no window saw together.

    The one on which both windows agree is kept, then the nearer in time. A division that one window
    found is kept where tracks may divide.
    """
    links, agreed = stitched.links, stitched.agreed
    # The last key counts first; positions rise with time.
    order = np.lexsort((links[:, 1], ~agreed, links[:, 0]))
    links, agreed = links[order], agreed[order]
    _, first = np.unique(links[:, 0], return_index=True)
    keep = agreed if splitting else np.zeros(len(links), dtype=bool)
    keep = keep.copy()
    keep[first] = True
    return np.asarray(links[keep])
