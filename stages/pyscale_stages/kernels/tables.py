"""The table of timings: one row each, written and read back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.contract import Timing
from pyscale_stages.errors import BadInput
from pyscale_stages.parquet import write_table
from pyscale_stages.task import Task

if TYPE_CHECKING:
    import polars as pl

FILE_NAME = "timings.parquet"
COLUMNS = ("worker", "device", *Timing.model_fields)


@dataclass(frozen=True)
class Placed:
    """A timing and the name of the device on which it was taken."""

    device: str
    timing: Timing


def table_of(placed: Iterable[Placed]) -> pl.DataFrame:
    """Put timings into a table; details are JSON, for every test has its own.

    `worker` is 0: `merge` numbers the workers.
    """
    import polars as pl

    rows = []
    for each in placed:
        row = each.timing.model_dump(mode="json")
        row["details"] = json.dumps(row["details"], sort_keys=True)
        rows.append({"worker": 0, "device": each.device, **row})
    texts = ("device", "test", "step", "unit", "bottleneck", "cache", "why_not", "details")
    whole = ("worker", "repeat", "workers")
    schema = {
        name: pl.String() if name in texts else pl.Int64() if name in whole else pl.Float64()
        for name in COLUMNS
    }
    return pl.DataFrame(rows, schema=schema)


def write_timings(task: Task, table: pl.DataFrame) -> None:
    """Write the table as the output of the task."""
    with task.writing(FILE_NAME) as path:
        write_table(path, table)


def read_timings(folder: Path) -> pl.DataFrame:
    """Read the table of an output folder.

    Raises
    ------
    BadInput
        If it is missing, broken, or of another kind.
    """
    import polars as pl

    path = folder / FILE_NAME
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(
            f"{path} cannot be read as a table of timings: run the stage again"
        ) from error
    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise BadInput(f"{path} has no column {missing[0]!r}: run the stage again")
    return table
