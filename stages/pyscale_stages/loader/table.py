"""The table of batches: one row each, written and read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.parquet import read_table, write_table

if TYPE_CHECKING:
    import polars as pl

    from pyscale_stages.loader.windows import Timed
    from pyscale_stages.task import Task

LOADING = "loading.parquet"
RANK = "rank"
TYPES = {
    RANK: "Int64",
    "window": "String",
    "index": "Int64",
    "wait_s": "Float64",
    "step_s": "Float64",
    "copy_s": "Float64",
    "patches": "Int64",
    "slides": "Int64",
    "checksum": "String",
}
"""Columns and their types; `slides` is null where patches say no place."""


def batches_table(windows: Mapping[str, Timed], rank: int, checksum: str | None) -> pl.DataFrame:
    """Make one row of each timed batch of one rank.

    Parameters
    ----------
    windows : mapping of str to Timed
        By their names.
    rank : int
    checksum : str or None
        Of the first patches of the rank.
    """
    import polars as pl

    rows = [
        {
            RANK: rank,
            "window": name,
            "index": index,
            "wait_s": wait_s,
            "step_s": timed.window.steps_s[index] if timed.window.steps_s else None,
            "copy_s": timed.window.copies_s[index] if timed.window.copies_s else None,
            "patches": timed.sizes[index],
            "slides": None if (places := timed.places[index]) is None else len(set(places.slides)),
            "checksum": checksum,
        }
        for name, timed in windows.items()
        for index, wait_s in enumerate(timed.window.waits_s)
    ]
    return pl.DataFrame(rows, schema={name: getattr(pl, kind) for name, kind in TYPES.items()})


def write_batches(task: Task, batches: pl.DataFrame) -> None:
    """Write the table of batches into the task's output."""
    with task.writing(LOADING) as path:
        write_table(path, batches)


def read_batches(folder: Path) -> pl.DataFrame:
    """Read the table of batches of an output folder.

    Raises
    ------
    BadInput
        If it is missing, damaged or another table.
    """
    return read_table(folder / LOADING, TYPES)
