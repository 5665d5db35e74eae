"""Tracks as a table for any program; its first four columns are those of napari's tracks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from pyscale_stages.atomic import atomic_path
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.track.lineage import Tracks
from pyscale_stages.track.tables import read_tracks
from pyscale_stages.windows import read_window

CSV_FILE = "tracks.csv"


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
