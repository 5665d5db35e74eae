"""Compares two outputs of the stage, and one of them with the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.contact.tables import Tables, read_tables
from pyscale_stages.contract import Agreement
from pyscale_stages.errors import BadInput
from pyscale_stages.task import Task
from pyscale_stages.truth.reading import own_contacts
from pyscale_stages.windows import folders_to_check, read_window, same_bytes

SAME_CENTROID_PX = 1e-3
"""Centroids are float32 on the device: at 2048 px its steps are 0.0001 px."""
PAIR = ["frame", "label_a", "label_b"]
CELL = ["frame", "cell_type", "label"]
COUNTS = {
    "contacts": [*PAIR, "contact_px", "overlap_px"],
    "cells": [*CELL, "area_px", "nearest_label", "n_touching"],
    "neighbours": ["frame", "cell_type_a", "label_a", "cell_type_b", "label_b"],
}
"""Columns of each table that must be equal exactly."""
TRUE_PAIR = ["frame", "track_a", "track_b"]


def check(task: Task) -> Agreement:
    """Say which share of the rows of two outputs are the same."""
    folders = folders_to_check(task)
    reference, other = (read_tables(folder) for folder in folders)
    identical = same_bytes(*folders, (f"{name}.parquet" for name in COUNTS))
    agreement = agreement_of(reference, other, identical=identical)
    if task.spec.truth is not None:
        _set_quality(task, folders[1], other, task.spec.truth)
    return agreement


def agreement_of(reference: Tables, other: Tables, *, identical: bool) -> Agreement:
    """Compare the three tables row by row."""
    shares = {f"same_{name}": _share(name, reference[name], other[name]) for name in COUNTS}
    shift_px = _largest_shift(reference["cells"], other["cells"])
    score = min(shares.values())
    pairs = [tables["contacts"].select(PAIR) for tables in (reference, other)]
    common = len(pairs[0].join(pairs[1], on=PAIR))
    return Agreement(
        same=score == 1.0,
        identical=identical,
        score=score,
        measure=(
            "share of rows found in both outputs with the same counts, and with centroids within "
            f"{SAME_CENTROID_PX} px, of all rows in either; the smallest of the tables contacts, "
            "cells and neighbours"
        ),
        tolerance=1.0,
        details={
            **shares,
            "pair_precision": common / len(pairs[1]) if len(pairs[1]) else 1.0,
            "pair_recall": common / len(pairs[0]) if len(pairs[0]) else 1.0,
            "largest_centroid_shift_px": shift_px,
        },
    )


def _share(name: str, one: pl.DataFrame, two: pl.DataFrame) -> float:
    """Rows in both tables, divided by rows in either; a cell elsewhere is another row."""
    both = one.with_row_index().join(two, on=COUNTS[name], suffix="_two", nulls_equal=True)
    if name == "cells":
        both = both.filter(_shift_px() <= SAME_CENTROID_PX)
    # A wrong merge may hold a row twice.
    common = both["index"].n_unique()
    either = len(one) + len(two) - common
    return common / either if either else 1.0


def _largest_shift(one: pl.DataFrame, two: pl.DataFrame) -> float:
    """Largest distance between centroids of one cell in two tables; 0 without a common cell."""
    both = one.join(two, on=CELL, suffix="_two")
    largest: float | None = both.select(_shift_px().max()).item()
    return largest or 0.0


def _shift_px() -> pl.Expr:
    """Distance between the centroids of a cell in two tables."""
    shift_y, shift_x = (pl.col(f"{axis}_px") - pl.col(f"{axis}_px_two") for axis in "yx")
    return (shift_y**2 + shift_x**2).sqrt()


def _set_quality(task: Task, folder: Path, tables: Tables, truth: Path) -> None:
    """Measure precision and recall of touching pairs against the truth.

    Measured cells are first matched to true ones of their type and frame: the two must be each
    other's nearest, and nearer than the radius of a disc with the measured cell's area.
    """
    window = read_window(folder)
    frames, n_types = window.frames, len(window.inputs)
    covered = pl.col("frame").is_between(frames[0], frames[1], closed="left")
    tracks, contacts = own_contacts(truth)
    # Of the whole movie: in a window, or in what was measured, a type may have no cell.
    if tracks["channel"].n_unique() != n_types:
        raise BadInput(
            f"{folder} was measured on {n_types} type(s) of cells, but the truth in {truth} has "
            f"{tracks['channel'].n_unique()}: use the truth of the measured movie, with every "
            "cell type as an input"
        )
    tracks = tracks.filter(covered)
    matched = _matched(tables["cells"], tracks)
    measured = tables["contacts"].select("frame", "label_a", "label_b")
    for side, cell_type in (("a", 0), ("b", n_types - 1)):
        named = {f"label_{side}": "label", f"track_{side}": "track_id"}
        of_side = matched.filter(cell_type=cell_type).select("frame", **named)
        measured = measured.join(of_side, on=["frame", f"label_{side}"], how="left")
    true = contacts.filter(covered).select("frame", track_a="label_a", track_b="label_b")
    right = len(_ordered(measured, n_types).join(_ordered(true, n_types), on=TRUE_PAIR, how="semi"))
    for measure, part, whole, nothing in (
        ("matched_cells", len(matched), len(tracks), "the truth has no cell"),
        ("contact_precision", right, len(measured), "no contact was measured"),
        ("contact_recall", right, len(true), "the truth has no contact"),
    ):
        if whole:
            task.set_quality(**{measure: part / whole})
        else:
            task.warn(
                f"{measure} is left out, because {nothing} in these frames", "measure-left-out"
            )


def _matched(cells: pl.DataFrame, tracks: pl.DataFrame) -> pl.DataFrame:
    """Table frame, cell_type, label, track_id of the cells that have a true one."""
    true = dict(iter(tracks.group_by("frame", "channel")))
    schema = {"frame": pl.Int32, "cell_type": pl.Int32, "label": pl.UInt32, "track_id": pl.Int32}
    parts = [pl.DataFrame(schema=schema)]
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
        return pairs.select(TRUE_PAIR)
    return pairs.select(
        "frame",
        track_a=pl.min_horizontal("track_a", "track_b"),
        track_b=pl.max_horizontal("track_a", "track_b"),
    )
