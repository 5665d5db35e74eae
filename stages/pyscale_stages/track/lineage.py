"""Links between detections, and the tracks and divisions that they make.

A track runs from one detection to the next while it has a single successor. Where a
detection has two, its track ends and each successor begins one: two splits. Track ids count
from 1 in the order of each track's first frame, then its first label, so that equal links
have equal ids, however they were computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyscale_stages.errors import BadInput
from pyscale_stages.track.detections import Detections, Ints

NO_LINKS = np.zeros((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class Tracks:
    """Detections with the track of each, and which tracks came from which.

    `track_id`: shape (n,); track of each detection, counted from 1. `splits`: shape (s, 2); parent
    and child track of each split, ascending.
    """

    detections: Detections
    track_id: Ints
    splits: Ints

    def within(self, start: int, stop: int) -> Tracks:
        """Keep the detections of the frames start to stop (excluded), and their splits."""
        chosen = self.detections.within(start, stop)
        kept = self.track_id[chosen]
        return Tracks(
            detections=self.detections.where(chosen),
            track_id=kept,
            splits=self.splits[np.isin(self.splits, kept).all(axis=1)],
        )


def tracks_of(detections: Detections, links: Ints) -> Tracks:
    """Number the tracks that the links make.

    `detections`: in the order of frame, then label. `links`: shape (m, 2); earlier and later
    detection of each link, as positions in `detections`; a detection is the later one of at most
    one link.
    """
    predecessor = np.full(len(detections), -1, dtype=np.int64)
    predecessor[links[:, 1]] = links[:, 0]
    if (predecessor >= 0).sum() != len(links):
        raise ValueError("a detection has two predecessors: tracks may divide, not merge")
    successors = np.bincount(links[:, 0], minlength=len(detections))

    track_id = np.zeros(len(detections), dtype=np.int64)
    splits = []
    tracks = 0
    # Detections are in the order of frames, so a predecessor has its track already.
    for place, before in enumerate(predecessor):
        if before >= 0 and successors[before] == 1:
            track_id[place] = track_id[before]
            continue
        tracks += 1
        track_id[place] = tracks
        if before >= 0:
            splits.append((track_id[before], tracks))
    return Tracks(detections, track_id, np.array(sorted(splits), dtype=np.int64).reshape(-1, 2))


def links_of(tracks: Tracks) -> Ints:
    """Links that make these tracks, by the later detection: the inverse of `tracks_of`."""
    order = np.lexsort((tracks.detections.frame, tracks.track_id))
    ids = tracks.track_id[order]
    follows = ids[1:] == ids[:-1]
    along = np.stack([order[:-1][follows], order[1:][follows]], axis=1)

    known, first = np.unique(ids, return_index=True)
    last = np.append(first[1:], len(ids)) - 1
    if not np.isin(tracks.splits, known).all():
        raise BadInput(
            "a split names a track that is not among the tracks: "
            "the tables are damaged, run the stage again"
        )
    parent, child = np.searchsorted(known, tracks.splits.T)
    across = np.stack([order[last[parent]], order[first[child]]], axis=1)

    return by_later(np.concatenate([along, across]))


def by_later(links: Ints) -> Ints:
    """Order links by their later detection, which is part of one link only."""
    return links[np.argsort(links[:, 1], kind="stable")]
