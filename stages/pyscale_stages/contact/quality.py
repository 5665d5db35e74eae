"""How right measured contacts are, where the truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.contact.tables import Tables
from pyscale_stages.contract import Window
from pyscale_stages.errors import BadInput
from pyscale_stages.parquet import read_table
from pyscale_stages.truth.reading import kind_of, own_contacts

TRACK_COLUMNS = ("channel", "track_id", "frame", "y_px", "x_px")
PAIR = ["frame", "track_a", "track_b"]


def contact_quality(folder: Path, tables: Tables, truth: Path, window: Window) -> dict[str, float]:
    """Precision and recall of touching pairs against the truth.

    Measured labels are not the truth's track ids, so each measured cell is first matched to
    the true cell of its type and frame: the two must be each other's nearest by centroid, and
    nearer than the radius of a disc with the measured cell's area.

    `folder`: where the tables are from, for messages. Returns: `matched_cells`: share of true cells
    that were matched. `contact_precision`: share of measured pairs that touch in truth;
    `contact_recall`: share of truly touching pairs that were measured. A share of nothing is left
    out.
    """
    frames, n_types = window.frames, len(window.inputs)
    covered = pl.col("frame").is_between(frames[0], frames[1], closed="left")
    tracks, contacts = _true_tables(truth)
    # Of the whole movie: in a window, or in what was measured, a type may have no cell.
    if tracks["channel"].n_unique() != n_types:
        raise BadInput(
            f"{folder} was measured on {n_types} type(s) of cells, but the truth in {truth} has "
            f"{tracks['channel'].n_unique()}: use the truth of the measured movie, with every "
            "cell type as an input"
        )
    tracks = tracks.filter(covered)
    touching = contacts.filter(covered)
    matched = _matched(tables["cells"], tracks)
    measured = tables["contacts"].select("frame", "label_a", "label_b")
    for side, cell_type in (("a", 0), ("b", n_types - 1)):
        of_side = matched.filter(pl.col("cell_type") == cell_type).select(
            "frame",
            pl.col("label").alias(f"label_{side}"),
            pl.col("track_id").alias(f"track_{side}"),
        )
        measured = measured.join(of_side, on=["frame", f"label_{side}"], how="left")
    true = touching.select(
        "frame", pl.col("label_a").alias("track_a"), pl.col("label_b").alias("track_b")
    )
    right = len(_ordered(measured, n_types).join(_ordered(true, n_types), on=PAIR, how="semi"))
    shares = {
        "matched_cells": (len(matched), len(tracks)),
        "contact_precision": (right, len(measured)),
        "contact_recall": (right, len(true)),
    }
    return {name: part / whole for name, (part, whole) in shares.items() if whole}


def _true_tables(truth: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    if kind_of(truth) != "synthetic":
        return own_contacts(truth)
    return (
        read_table(truth / "tracks.parquet", TRACK_COLUMNS),
        read_table(truth / "contacts.parquet", ("frame", "label_a", "label_b")),
    )


def _matched(cells: pl.DataFrame, tracks: pl.DataFrame) -> pl.DataFrame:
    """Table frame, cell_type, label, track_id of the cells that have a true one."""
    true = dict(iter(tracks.group_by("frame", "channel")))
    parts = [
        pl.DataFrame(
            schema={
                "frame": pl.Int32,
                "cell_type": pl.Int32,
                "label": pl.UInt32,
                "track_id": pl.Int32,
            }
        )
    ]
    for key, group in cells.group_by("frame", "cell_type", maintain_order=True):
        if key in true:
            mine, theirs = _mutual_nearest(group, true[key])
            parts.append(
                group[mine].select(
                    "frame", "cell_type", "label", track_id=true[key]["track_id"].gather(theirs)
                )
            )
    return pl.concat(parts)


def _mutual_nearest(
    cells: pl.DataFrame, tracks: pl.DataFrame
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of cells, and of the true cells that are theirs."""
    from scipy.spatial import cKDTree

    at_cells, at_tracks = (t.select("y_px", "x_px").to_numpy() for t in (cells, tracks))
    distance, track_of = map(np.asarray, cKDTree(at_tracks).query(at_cells))
    cell_of = np.asarray(cKDTree(at_cells).query(at_tracks)[1])
    radius = np.sqrt(cells["area_px"].to_numpy() / np.pi)
    mutual = cell_of[track_of] == np.arange(len(cells))
    mine = np.flatnonzero(mutual & (distance <= radius))
    return mine, track_of[mine]


def _ordered(pairs: pl.DataFrame, n_types: int) -> pl.DataFrame:
    """Pairs of one type with the smaller id first; of two types as they are."""
    if n_types == 2:
        return pairs.select(PAIR)
    return pairs.select(
        "frame",
        track_a=pl.min_horizontal("track_a", "track_b"),
        track_b=pl.max_horizontal("track_a", "track_b"),
    )
