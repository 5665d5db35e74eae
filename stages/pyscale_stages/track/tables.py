"""The stage's tables on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pyscale_stages.parquet import read_table, write_table
from pyscale_stages.track.detections import Detections
from pyscale_stages.track.distances import DISTANCES_FILE, Distances
from pyscale_stages.track.lineage import Tracks

if TYPE_CHECKING:
    from pyscale_stages.task import Task

TRACKS_FILE = "tracks.parquet"
SPLITS_FILE = "splits.parquet"


def write_tracks(task: Task, tracks: Tracks) -> None:
    """Write both tables into the task's output folder."""
    found = tracks.detections
    detections = pl.DataFrame(
        {
            "frame": found.frame.astype(np.int32),
            "label": found.label.astype(np.int32),
            "track_id": tracks.track_id.astype(np.int32),
            "y_px": found.y_px,
            "x_px": found.x_px,
        }
    )
    splits = pl.DataFrame(
        {
            "parent_id": tracks.splits[:, 0].astype(np.int32),
            "child_id": tracks.splits[:, 1].astype(np.int32),
        }
    )
    for name, table in ((TRACKS_FILE, detections), (SPLITS_FILE, splits)):
        with task.writing(name) as path:
            write_table(path, table)


def write_distances(task: Task, distances: Distances) -> None:
    """Write the distances that limited the links."""
    with task.writing(DISTANCES_FILE) as path:
        path.write_text(json.dumps(asdict(distances), indent=2) + "\n", encoding="utf-8")


def copy_distances(task: Task, windows: Sequence[Path]) -> None:
    """Copy the distances of the windows, which are the same in all that have a cell."""
    files = [folder / DISTANCES_FILE for folder in windows]
    found = [file for file in files if file.is_file()]
    if found:
        with task.writing(DISTANCES_FILE) as path:
            path.write_bytes(found[0].read_bytes())


def read_tracks(folder: Path) -> Tracks:
    """Read both tables of an output folder."""
    table = read_table(folder / TRACKS_FILE, ("frame", "label", "track_id", "y_px", "x_px"))
    splits = read_table(folder / SPLITS_FILE, ("parent_id", "child_id"))
    table = table.sort("frame", "label")
    return Tracks(
        detections=Detections(
            frame=table["frame"].cast(int).to_numpy(),
            label=table["label"].cast(int).to_numpy(),
            y_px=table["y_px"].cast(float).to_numpy(),
            x_px=table["x_px"].cast(float).to_numpy(),
        ),
        track_id=table["track_id"].cast(int).to_numpy(),
        splits=splits.sort("parent_id", "child_id").to_numpy().astype(np.int64).reshape(-1, 2),
    )
