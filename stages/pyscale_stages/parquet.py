"""Tables out: Parquet, with the errors of the disk as Python knows them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table as Parquet.

    It is put together in memory, because polars itself tells of a full disk in words that
    differ with the byte at which it filled up.

    Raises
    ------
    OSError
        If the disk is full or `path` may not be written.
    """
    buffer = BytesIO()
    table.write_parquet(buffer)
    path.write_bytes(buffer.getbuffer())
