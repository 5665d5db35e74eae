"""The Cell Tracking Challenge's measures of tracks: DET, TRA and LNK, by py-ctcmetrics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyscale_stages.track.detections import Ints
from pyscale_stages.track.lineage import Tracks


def ctc_measures(
    found: Tracks, true: Tracks, pairs: Ints, frames: tuple[int, int]
) -> dict[str, float]:
    """Measure two graphs of tracks by what it takes to make one into the other.

    The challenge matches masks; here detections are matched by their centroids, which is the same
    where the labels that were tracked are those of the truth.

    Parameters
    ----------
    found, true : Tracks
        Within the frames.
    pairs : ndarray of int64, shape (m, 2)
        Positions of detections and of true cells that stand for each other.
    frames : tuple of int
        First frame and end (excluded).

    Returns
    -------
    dict
        `ctc_det`, `ctc_tra` and `ctc_lnk` (Matula et al. 2015), 1 where nothing has to be
        changed; none where there is no true link or nothing was found.
    """
    # One frame has no links, and of none the library counts nothing.
    if frames[1] - frames[0] < 2 or not (len(found.detections) and len(true.detections)):
        return {}
    from ctc_metrics.metrics import det, lnk, tra
    from ctc_metrics.utils.representations import count_acyclic_graph_correction_operations

    costs = count_acyclic_graph_correction_operations(
        _table(true, frames),
        _table(found, frames),
        # The library takes the labels of a frame for sorted, as those of masks are.
        _by_frame(true, np.argsort(true.track_id), frames),
        _by_frame(found, np.argsort(found.track_id), frames),
        _by_frame(true, pairs[:, 1], frames),
        _by_frame(found, pairs[:, 0], frames),
    )
    if not costs["num_edges"]:
        return {}
    return {"ctc_det": det(**costs), "ctc_tra": tra(**costs)[0], "ctc_lnk": lnk(**costs)}


def _table(tracks: Tracks, frames: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Track, first and last frame, and parent or 0, one row for each track."""
    ids, place = np.unique(tracks.track_id, return_inverse=True)
    rows = np.zeros((len(ids), 4), np.int64)
    rows[:, 0] = ids
    rows[:, 1] = np.iinfo(np.int64).max
    np.minimum.at(rows[:, 1], place, tracks.detections.frame)
    np.maximum.at(rows[:, 2], place, tracks.detections.frame)
    rows[np.searchsorted(ids, tracks.splits[:, 1]), 3] = tracks.splits[:, 0]
    # The library takes the first list for frame 0.
    rows[:, 1:3] -= frames[0]
    return rows


def _by_frame(tracks: Tracks, places: Ints, frames: tuple[int, int]) -> list[list[int]]:
    """Tracks of the detections at these places, a list for each frame."""
    frame = tracks.detections.frame[places]
    ids = tracks.track_id[places]
    return [ids[frame == one].tolist() for one in range(*frames)]
