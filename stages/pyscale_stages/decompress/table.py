"""The stage's output: one table, with a row for each timing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.contract import Timing
from pyscale_stages.errors import BadInput
from pyscale_stages.parquet import write_table
from pyscale_stages.task import Task

if TYPE_CHECKING:
    import polars as pl

TABLE = "timings.parquet"


def table_of(timings: Iterable[tuple[Timing, str]]) -> pl.DataFrame:
    """One row for each timing, with the SHA-256 of what was decoded in it, or nothing.

    `details` are JSON: which there are differs from step to step.
    """
    import polars as pl

    schema: dict[str, pl.DataType] = {
        "test": pl.String(),
        "step": pl.String(),
        "repeat": pl.Int64(),
        "workers": pl.Int64(),
        "wall_s": pl.Float64(),
        "amount": pl.Float64(),
        "unit": pl.String(),
        "bottleneck": pl.String(),
        "cache": pl.String(),
        "why_not": pl.String(),
        "details": pl.String(),
        "sha256": pl.String(),
    }
    rows = [
        timing.model_dump()
        | {"details": json.dumps(timing.details, sort_keys=True), "sha256": sha256}
        for timing, sha256 in timings
    ]
    return pl.DataFrame(rows, schema=schema)


def write_timings(task: Task, table: pl.DataFrame) -> None:
    """Write the table as the stage's output."""
    with task.writing(TABLE) as path:
        write_table(path, table)


def read_timings(folder: Path) -> pl.DataFrame:
    """Read the table of an output folder.

    Raises
    ------
    BadInput
        If it is missing or broken.
    """
    import polars as pl

    try:
        return pl.read_parquet(folder / TABLE)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(
            f"{folder / TABLE} is missing or broken: run the stage again into that folder"
        ) from error
