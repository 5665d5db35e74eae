"""Joining the tracks of windows into those of the movie.

Every window tracked some frames beyond both of its ends. A link belongs to the window that
holds its later detection, which has therefore seen at least the overlap on both sides of it.
Each detection then has at most one predecessor, whatever the windows decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pyscale_stages.contract import Window
from pyscale_stages.errors import BadInput
from pyscale_stages.track.detections import Detections, Ints, joined
from pyscale_stages.track.lineage import links_of
from pyscale_stages.track.tables import read_tracks


def stitch(windows: Sequence[tuple[Path, Window]]) -> tuple[Detections, Ints]:
    """Take each detection and each link from the window that it belongs to.

    Parameters
    ----------
    windows : sequence of (Path, Window)
        Output folders in the order of their frames.

    Returns
    -------
    detections : Detections
    links : ndarray of int64, shape (m, 2)
        Earlier and later detection, as positions in `detections`.

    Raises
    ------
    BadInput
        If two windows hold different cells of one frame.
    """
    detections = []
    earlier, later = [], []
    for folder, window in windows:
        tracks = read_tracks(folder)
        found = tracks.detections
        own = found.within(*window.frames)
        detections.append(found.where(own))
        links = links_of(tracks)
        links = links[own[links[:, 1]]]
        earlier.append(found.keys[links[:, 0]])
        later.append(found.keys[links[:, 1]])
    together = joined(detections)
    keys = np.concatenate(earlier)
    unknown = ~np.isin(keys, together.keys)
    if unknown.any():
        raise BadInput(
            f"two windows hold different cells of frame {keys[unknown][0] >> 32}: "
            "they were computed from different labels, run the windows again on one movie"
        )
    links = np.stack([keys, np.concatenate(later)], axis=1)
    return together, np.searchsorted(together.keys, links)


def without_forks(links: Ints) -> Ints:
    """Keep the earliest successor of each detection.

    Where tracks may not divide, two windows can still give one lost cell two different
    returns; the nearer in time is kept, as both trackers prefer short gaps.

    Parameters
    ----------
    links : ndarray of int64, shape (m, 2)
        Positions in the order of frame, then label.
    """
    ordered = links[np.lexsort((links[:, 1], links[:, 0]))]
    _, first = np.unique(ordered[:, 0], return_index=True)
    kept: Ints = ordered[first]
    return kept
