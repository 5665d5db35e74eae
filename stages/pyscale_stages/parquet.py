"""Tables out, as Parquet with the errors of the disk as Python knows them, and in again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path

import polars as pl

from pyscale_stages.errors import BadInput
from pyscale_stages.task import Task


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table as Parquet."""
    # It is put together in memory, because polars itself tells of a full disk in words that differ
    # with the byte at which it filled up.
    buffer = BytesIO()
    table.write_parquet(buffer)
    path.write_bytes(buffer.getbuffer())


def write_tables(task: Task, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write tables by their file names into a task's output."""
    for name, table in tables.items():
        with task.writing(name) as path:
            write_table(path, table)


def read_table(
    path: Path, columns: Iterable[str], remedy: str = "run the stage that wrote it again"
) -> pl.DataFrame:
    """Read a table that has certain columns; a missing, damaged or other one is a `BadInput`."""
    try:
        table = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(
            f"{path} is missing or damaged ({str(error).splitlines()[0]}): {remedy}"
        ) from error
    lacking = [column for column in columns if column not in table.columns]
    if lacking:
        raise BadInput(
            f"{path} has no column {lacking[0]!r}: it is another table or version; {remedy}"
        )
    return table
