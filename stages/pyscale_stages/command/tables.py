"""Tables that a step writes: CSV, TSV or Parquet, by the ending of their name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.errors import BadInput

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_table(path: Path) -> pl.DataFrame:
    """Read a table that a step wrote."""
    import polars as pl

    separator = SEPARATORS.get(path.suffix.lower())
    try:
        if separator is None:
            return pl.read_parquet(path)
        # A number may stand first in the last row alone.
        return pl.read_csv(path, separator=separator, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        said = str(error).partition("\n")[0]
        raise BadInput(f"{path} is no table of its ending ({said}): see what wrote it") from error


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table by the ending of its name."""
    separator = SEPARATORS.get(path.suffix.lower())
    if separator is None:
        table.write_parquet(path)
    else:
        table.write_csv(path, separator=separator)


def appended(parts: Sequence[tuple[Path, tuple[int, int]]], offset: str | None) -> pl.DataFrame:
    """Rows of all windows below each other; the column `offset` counts from 0 in each of them."""
    import polars as pl

    read = [(path, window[0], read_table(path)) for path, window in parts]
    # A window without objects has no value by which the type of a column could be told.
    read = [part for part in read if not part[2].is_empty()] or read[:1]
    moved = []
    for path, first, table in read:
        if offset is None or table.is_empty():
            moved.append(table)
        elif offset in table.columns and table[offset].dtype.is_numeric():
            moved.append(table.with_columns(pl.col(offset) + first))
        else:
            raise BadInput(
                f"{path} has no column {offset!r} of numbers: set offset to one that it has"
            )
    try:
        return pl.concat(moved, how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        said = str(error).partition("\n")[0]
        raise BadInput(
            f"the tables of windows have other columns than each other ({said}): write the same "
            "ones in each"
        ) from error
