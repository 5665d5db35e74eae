"""The table of timings: one row each, written and read back, and joined."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from pyscale_stages import parquet
from pyscale_stages.errors import BadInput
from pyscale_stages.task import Task
from pyscale_stages.timing import TIMINGS, Timing
from pyscale_stages.windows import of_one_measurement

WORKER = "worker"
"""Column that says which of the joined outputs a row is from; 0 before they are joined."""
TYPES = {
    WORKER: pl.Int64,
    "test": pl.String,
    "step": pl.String,
    "repeat": pl.Int64,
    "workers": pl.Int64,
    "device": pl.String,
    "wall_s": pl.Float64,
    "amount": pl.Float64,
    "unit": pl.String,
    "bottleneck": pl.String,
    "cache": pl.String,
    "why_not": pl.String,
    "details": pl.String,
}
"""Columns and their types; `details` is JSON, because every test has its own."""


def timings_table(timings: Sequence[Timing]) -> pl.DataFrame:
    """Make one row of each timing."""
    rows = [
        {WORKER: 0}
        | timing.model_dump(mode="json")
        | {"details": json.dumps(timing.details, sort_keys=True)}
        for timing in timings
    ]
    return pl.DataFrame(rows, schema=TYPES)


def write_results(
    task: Task, timings: pl.DataFrame, more: Mapping[str, pl.DataFrame] | None = None
) -> None:
    """Write the output of one worker: its timings, further tables, and what they are of."""
    task.count(objects=len(timings))
    with task.span("write"):
        parquet.write_tables(task, {TIMINGS: timings, **(more or {})})
        part = task.spec.frames or (0, 1)
        task.write_window(part, task.spec.movie_frames or part[1])


def read_table(folder: Path, name: str = TIMINGS) -> pl.DataFrame:
    """Read one of the tables of an output folder."""
    return parquet.read_table(folder / name, TYPES if name == TIMINGS else (WORKER,))


def merge(task: Task, others: tuple[str, ...] = ()) -> None:
    """Put the tables of all workers, each of which did all tests, below each other."""
    # Workers that measured the same thing at once may have the same frames; then the order given
    # is kept.
    found = of_one_measurement(task, "workers")
    seen = set()
    for path, _ in found:
        if path.resolve() in seen:
            raise BadInput(f"{path} is given twice: give each worker's output once")
        seen.add(path.resolve())
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in (TIMINGS, *others)}
    workers = 0
    for path, _ in found:
        tables = {name: read_table(path, name) for name in parts}
        for name, table in tables.items():
            parts[name].append(table.with_columns(pl.col(WORKER) + workers))
        workers += tables[TIMINGS][WORKER].n_unique()
    joined = {name: pl.concat(tables) for name, tables in parts.items()}
    parquet.write_tables(task, joined)
    task.count(objects=len(joined[TIMINGS]))
    task.write_whole(found[0][1])
