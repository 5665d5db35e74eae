"""The stage's tables: timings, one row each, and what proves the state of the page cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale_stages.contract import Timing
from pyscale_stages.errors import BadInput
from pyscale_stages.parquet import write_table

if TYPE_CHECKING:
    import polars as pl

    from pyscale_stages.task import Task

TIMINGS = "timings.parquet"
RESIDENCY = "residency.parquet"
WORKER = "worker"
"""Column of merged tables: which of the joined folders a row is from."""
_TIMING_TYPES = {
    "test": "String",
    "step": "String",
    "repeat": "Int64",
    "workers": "Int64",
    "wall_s": "Float64",
    "amount": "Float64",
    "unit": "String",
    "bottleneck": "String",
    "cache": "String",
    "why_not": "String",
}
_RESIDENCY_TYPES = {
    "test": "String",
    "repeat": "Int64",
    "workers": "Int64",
    "mode": "String",
    "file": "String",
    "size_bytes": "Int64",
    "resident_before_bytes": "Int64",
    "resident_after_bytes": "Int64",
    "method": "String",
    "state": "String",
    "reason": "String",
}


def timings_table(timings: Sequence[Timing]) -> pl.DataFrame:
    """Make one row of each timing; each detail is a column, null where a timing has it not."""
    names = sorted({name for timing in timings for name in timing.details})
    rows = [
        timing.model_dump(exclude={"details"}) | {name: timing.details.get(name) for name in names}
        for timing in timings
    ]
    return _table(rows, _TIMING_TYPES | dict.fromkeys(names, "Float64"))


def residency_table(proofs: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Make one row of each file before each repeat of each test that read it."""
    return _table(proofs, _RESIDENCY_TYPES)


def write_tables(task: Task, tables: dict[str, pl.DataFrame]) -> None:
    """Write tables by their file names into the task's output."""
    for name, table in tables.items():
        with task.writing(name) as path:
            write_table(path, table)


def read_table(folder: Path, name: str) -> pl.DataFrame:
    """Read one of the tables of an output folder.

    Raises
    ------
    BadInput
        If it is missing, damaged or another table.
    """
    import polars as pl

    path = folder / name
    try:
        table = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(
            f"{path} is missing or damaged ({str(error).splitlines()[0]}): run what wrote it again"
        ) from error
    types = _TIMING_TYPES if name == TIMINGS else _RESIDENCY_TYPES
    lacking = [column for column in types if column not in table.columns]
    if lacking:
        raise BadInput(f"{path} has no column {lacking[0]!r}: it is another table or version")
    return table


def joined(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put tables of several workers one below the other and say which rows are whose."""
    import polars as pl

    numbered = [
        part.drop(WORKER, strict=False).with_columns(pl.lit(number, pl.Int64).alias(WORKER))
        for number, part in enumerate(parts)
    ]
    # Diagonal, because a test that one node cannot run leaves it without the test's details.
    return pl.concat(numbered, how="diagonal", rechunk=True)


def _table(rows: Sequence[dict[str, Any]], types: dict[str, str]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(rows, schema={name: getattr(pl, kind) for name, kind in types.items()})
