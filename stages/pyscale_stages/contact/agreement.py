"""Compares two outputs of the stage, and one of them with the truth of a synthetic movie."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from pyscale_stages.contact.quality import contact_quality
from pyscale_stages.contact.tables import Tables, read_tables
from pyscale_stages.contract import Agreement
from pyscale_stages.task import Task
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
SHARES_OF = {
    "matched_cells": "the truth has no cell",
    "contact_precision": "no contact was measured",
    "contact_recall": "the truth has no contact",
}
"""Why a measure of quality can be undefined: it would be a share of nothing."""


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
    quality = contact_quality(folder, tables, truth, read_window(folder))
    task.set_quality(**quality)
    for measure, nothing in SHARES_OF.items():
        if measure not in quality:
            task.warn(
                f"{measure} is left out, because {nothing} in these frames", "measure-left-out"
            )
