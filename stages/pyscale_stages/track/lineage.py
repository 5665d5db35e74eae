"""Cells as points, links between them, the tracks and divisions that these make, and their tables.

A track runs from one detection to the next while it has a single successor. Where a
detection has two, its track ends and each successor begins one: two splits. Track ids count
from 1 in the order of each track's first frame, then its first label, so that equal links
have equal ids, however they were computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.contract import Window
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Pixels
from pyscale_stages.parquet import read_table, write_tables
from pyscale_stages.task import Task
from pyscale_stages.truth.cells import centroids

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LARGEST_LABEL = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Detections:
    """Detections (n,) in the order of their absolute frame, then of their label, with centroids."""

    frame: Ints
    label: Ints
    y_px: Floats
    x_px: Floats

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def keys(self) -> Ints:
        """One ascending number per detection, the same for the same frame and label."""
        return (self.frame << 32) | self.label

    def within(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Mark the detections of the frames start to stop (excluded)."""
        return (self.frame >= start) & (self.frame < stop)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Detections:
        """Keep the marked detections."""
        return Detections(
            self.frame[chosen], self.label[chosen], self.y_px[chosen], self.x_px[chosen]
        )


def detect(labels: Pixels, frame: int) -> Detections:
    """Centroids of all labels of one frame."""
    low, high = int(labels.min(initial=0)), int(labels.max(initial=0))
    if low < 0 or high > LARGEST_LABEL:
        raise BadInput(
            f"frame {frame} has labels from {labels[labels != 0].min()} to {high}, but labels lie "
            f"between 1 and {LARGEST_LABEL}: label the cells of each frame 1, 2, 3 …"
        )
    label, y_px, x_px = centroids(labels).T
    return Detections(np.full(len(label), frame), label.astype(np.int64), y_px, x_px)


def joined(parts: Iterable[Detections]) -> Detections:
    """Put detections of successive frames into one."""
    nothing, nowhere = np.zeros(0, dtype=np.int64), np.zeros(0)
    listed = [Detections(nothing, nothing, nowhere, nowhere), *parts]
    return Detections(
        *(
            np.concatenate([getattr(part, name) for part in listed])
            for name in ("frame", "label", "y_px", "x_px")
        )
    )


NO_LINKS = np.zeros((0, 2), dtype=np.int64)
TRACKS_FILE = "tracks.parquet"
SPLITS_FILE = "splits.parquet"
TRACKS_SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("frame", "label", "track_id"), pl.Int32),
    **dict.fromkeys(("y_px", "x_px"), pl.Float64),
}
SPLITS_SCHEMA: dict[str, type[pl.DataType]] = dict.fromkeys(("parent_id", "child_id"), pl.Int32)


@dataclass(frozen=True)
class Tracks:
    """Detections, the track of each from 1, and parent and child (s, 2) of each split."""

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
    """Number the tracks that the links make, of detections in the order of frame, then label.

    `links`: (m, 2) positions, earlier and later; a detection is the later one of one link at most.
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
    parent, child = np.searchsorted(known, tracks.splits.T)
    across = np.stack([order[last[parent]], order[first[child]]], axis=1)

    return by_later(np.concatenate([along, across]))


def unbroken(tracks: Tracks) -> tuple[Tracks, Ints]:
    """Cut tracks where they miss a frame; also give the track that each continues, by id, or 0."""
    cells, links = tracks.detections, links_of(tracks)
    earlier, later = links.T
    goes_on = tracks.track_id[earlier] == tracks.track_id[later]
    goes_on &= cells.frame[later] == cells.frame[earlier] + 1
    pieces = tracks_of(cells, links[goes_on])
    parents = np.zeros(int(pieces.track_id.max(initial=0)), dtype=np.int64)
    parents[pieces.track_id[later[~goes_on]] - 1] = pieces.track_id[earlier[~goes_on]]
    return pieces, parents


def rows_of(tracks: Tracks, parents: Ints) -> Ints:
    """Track, first and last frame, and parent or 0, one row for each track."""
    ids, first, counts = np.unique(tracks.track_id, return_index=True, return_counts=True)
    order = np.argsort(tracks.track_id, kind="stable")
    # Detections are in the order of frames: of each track the first is first, the last last.
    last = order[np.cumsum(counts) - 1]
    frame = tracks.detections.frame
    return np.stack([ids, frame[first], frame[last], parents], axis=1)


def by_later(links: Ints) -> Ints:
    """Order links by their later detection, which is part of one link only."""
    return links[np.argsort(links[:, 1], kind="stable")]


def write_tracks(task: Task, tracks: Tracks) -> None:
    """Write both tables into the task's output folder."""
    found = tracks.detections
    columns = (found.frame, found.label, tracks.track_id, found.y_px, found.x_px)
    detections = pl.DataFrame(dict(zip(TRACKS_SCHEMA, columns, strict=True)), TRACKS_SCHEMA)
    splits = pl.DataFrame(tracks.splits, SPLITS_SCHEMA, orient="row")
    write_tables(task, {TRACKS_FILE: detections, SPLITS_FILE: splits})


def read_tracks(folder: Path) -> Tracks:
    """Read both tables of an output folder."""
    table = read_table(folder / TRACKS_FILE, TRACKS_SCHEMA).sort("frame", "label")
    splits = read_table(folder / SPLITS_FILE, SPLITS_SCHEMA).sort(*SPLITS_SCHEMA)
    return of_table(table, "label", splits.to_numpy().astype(np.int64).reshape(-1, 2))


def of_table(table: pl.DataFrame, label: str, splits: Ints) -> Tracks:
    """Tracks of a table in the order of its rows, whose labels stand in a column of that name."""
    frame, labels, track_id = (
        table[name].cast(int).to_numpy() for name in ("frame", label, "track_id")
    )
    y_px, x_px = (table[name].cast(float).to_numpy() for name in ("y_px", "x_px"))
    return Tracks(Detections(frame, labels, y_px, x_px), track_id, splits)


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
