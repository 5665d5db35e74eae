"""The table of batches: one row each, written and read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from pyscale_stages.loader.params import LOADING
from pyscale_stages.loader.windows import Timed
from pyscale_stages.parquet import read_table, write_table
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_ranks

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

    `checksum`: of the first patches of the rank.
    """
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
    """Read the table of batches of an output folder."""
    return read_table(folder / LOADING, TYPES)


def merge(task: Task) -> None:
    """Put the batches of all ranks one below the other, in the order of the ranks."""
    found = ordered_ranks(task)
    batches = pl.concat([read_batches(path) for path, _ in found])
    write_batches(task, batches)
    task.write_whole(found[0][1])
    task.count(frames=int(batches["patches"].sum()))
