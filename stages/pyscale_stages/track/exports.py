"""Tracks for other programs: a table, and the form of the Cell Tracking Challenge.

The first four columns of the table are those of napari's tracks. A track of the challenge is in
every frame from its first to its last: one that was lost between is written as several, each the
parent of the next.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from pyscale_stages.atomic import atomic_path, write_atomically
from pyscale_stages.errors import BadInput
from pyscale_stages.hashing import fingerprint_of
from pyscale_stages.movie import Movie
from pyscale_stages.track.detections import Ints, detect, places
from pyscale_stages.track.lineage import Tracks, links_of, read_tracks, tracks_of
from pyscale_stages.windows import read_window

CSV_FILE = "tracks.csv"
TABLE_FILE = "res_track.txt"
MOST_TRACKS = np.iinfo(np.uint16).max
"""The challenge's masks have 16 bits."""


def export_csv(folder: Path, _labels: Movie | None, output: Path) -> None:
    """Write `tracks.csv`: one line for each cell of each frame, ordered by track, then frame."""
    tracks = whole_tracks(folder)
    found = tracks.detections
    parent_of = np.zeros(int(tracks.track_id.max(initial=0)) + 1, dtype=np.int64)
    parent_of[tracks.splits[:, 1]] = tracks.splits[:, 0]
    table = pl.DataFrame(
        {
            "track_id": tracks.track_id,
            "frame": found.frame,
            "y_px": found.y_px,
            "x_px": found.x_px,
            "label": found.label,
            "parent_id": parent_of[tracks.track_id],
        }
    )
    with atomic_path(output / CSV_FILE) as path:
        table.sort("track_id", "frame").write_csv(path)


def whole_tracks(folder: Path) -> Tracks:
    """Read the tracks of a whole movie."""
    window = read_window(folder)
    if window.stage != "track":
        raise BadInput(f"{folder} is the output of {window.stage}, not of track")
    if window.frames != (0, window.movie_frames):
        raise BadInput(
            f"{folder} holds the frames {window.frames[0]}:{window.frames[1]} of "
            f"{window.movie_frames}: merge all windows, and export the result"
        )
    return read_tracks(folder)


def export_ctc(folder: Path, labels: Movie | None, output: Path) -> None:
    """Write `mask000.tif`, `mask001.tif` … and `res_track.txt`."""
    import tifffile

    if labels is None:
        raise BadInput("the export ctc draws masks: give the tracked labels as --labels")
    if read_window(folder).inputs.get("labels") != fingerprint_of(labels.files):
        raise BadInput(f"{labels.path} was not tracked in {folder}: give the labels that were")
    if any(output.glob("mask*.tif")):
        raise BadInput(f"{output} already holds masks: name a new folder as --output")
    whole = whole_tracks(folder)
    tracks, parents = unbroken(whole)
    if len(parents) > MOST_TRACKS:
        raise BadInput(
            f"{folder} has {len(parents)} tracks, but masks of the challenge name at most "
            f"{MOST_TRACKS}: export --as trackmate or csv"
        )
    cells, n_frames = tracks.detections, read_window(folder).movie_frames
    digits = max(3, len(str(n_frames - 1)))
    for frame, image in enumerate(labels.frames(0, n_frames, channel=0)):
        here = cells.frame == frame
        if not np.array_equal(detect(image, frame).label, cells.label[here]):
            raise BadInput(f"frame {frame} of {labels.path} has other cells than the tracked ones")
        ids = np.concatenate([[0], tracks.track_id[here]]).astype(np.uint16)
        with atomic_path(output / f"mask{frame:0{digits}d}.tif") as path:
            tifffile.imwrite(path, ids[places(image, cells.label[here])], compression="zlib")
    # Last, so that a folder with a table is complete.
    write_atomically(output / TABLE_FILE, table_of(tracks, parents))


def unbroken(tracks: Tracks) -> tuple[Tracks, Ints]:
    """Cut tracks where they miss a frame.

    Returns `parents`: shape (tracks,); track that each continues or is a daughter of, in the order
    of ids; 0 is none.
    """
    cells, links = tracks.detections, links_of(tracks)
    earlier, later = links.T
    goes_on = tracks.track_id[earlier] == tracks.track_id[later]
    goes_on &= cells.frame[later] == cells.frame[earlier] + 1
    pieces = tracks_of(cells, links[goes_on])
    parents = np.zeros(int(pieces.track_id.max(initial=0)), dtype=np.int64)
    parents[pieces.track_id[later[~goes_on]] - 1] = pieces.track_id[earlier[~goes_on]]
    return pieces, parents


def table_of(tracks: Tracks, parents: Ints) -> str:
    """Lines of label, first frame, last frame and parent, in the order of labels."""
    # Detections are in the order of frames: of each track the first is first, the last last.
    _, first = np.unique(tracks.track_id, return_index=True)
    _, from_end = np.unique(tracks.track_id[::-1], return_index=True)
    begin = tracks.detections.frame[first]
    end = tracks.detections.frame[::-1][from_end]
    rows = zip(begin.tolist(), end.tolist(), parents.tolist(), strict=True)
    return "".join(f"{label} {b} {e} {p}\n" for label, (b, e, p) in enumerate(rows, start=1))
