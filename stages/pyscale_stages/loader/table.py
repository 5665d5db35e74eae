"""The table of batches: one row each, written, joined, and compared by its checksums."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from pyscale_stages.contract import Agreement
from pyscale_stages.errors import BadInput
from pyscale_stages.loader.stage import LOADING
from pyscale_stages.loader.windows import Timed
from pyscale_stages.parquet import read_table, write_tables
from pyscale_stages.task import Task
from pyscale_stages.windows import folders_to_check, ordered_ranks, same_bytes

RANK = "rank"
TYPES = {
    RANK: pl.Int64,
    "window": pl.String,
    "index": pl.Int64,
    "wait_s": pl.Float64,
    "step_s": pl.Float64,
    "copy_s": pl.Float64,
    "patches": pl.Int64,
    "slides": pl.Int64,
    "checksum": pl.String,
}
"""Columns and their types; `slides` is null where patches say no place."""


def batches_table(windows: Mapping[str, Timed], rank: int, checksum: str | None) -> pl.DataFrame:
    """Make one row of each timed batch of one rank."""
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
    return pl.DataFrame(rows, schema=TYPES)


def merge(task: Task) -> None:
    """Put the batches of all ranks one below the other, in the order of the ranks."""
    found = ordered_ranks(task)
    batches = pl.concat([read_table(path / LOADING, TYPES) for path, _ in found])
    write_tables(task, {LOADING: batches})
    task.write_whole(found[0][1])
    task.count(frames=int(batches["patches"].sum()))


def check(task: Task) -> Agreement:
    """Say which share of the ranks loaded the same patches in two outputs."""
    folders = folders_to_check(task)
    reference, other = (_checksums(folder) for folder in folders)
    same = sum(other.get(rank) == checksum for rank, checksum in reference.items())
    ranks = len({*reference, *other})
    return Agreement(
        same=same == ranks,
        identical=same_bytes(*folders, (LOADING,)),
        score=same / ranks,
        measure=(
            "share of ranks, of all in either output, whose first patches have the same places "
            "and pixels, whatever their order; times do not count"
        ),
        tolerance=1.0,
        details={"compared_ranks": float(ranks), "same_ranks": float(same)},
    )


def _checksums(folder: Path) -> dict[int, str]:
    pairs = read_table(folder / LOADING, TYPES).select(RANK, "checksum").unique().rows()
    checksums = {rank: checksum for rank, checksum in pairs if checksum is not None}
    if not checksums or len(checksums) < len(pairs):
        raise BadInput(
            f"{folder} has no checksum of its patches: run it again with checksum_batches of 1 "
            "or more"
        )
    return checksums
