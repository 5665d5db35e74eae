"""Joins the tables of several workers, each of which measured by itself."""

from __future__ import annotations

import polars as pl

from pyscale_stages.errors import BadInput
from pyscale_stages.machine.timingtable import WORKER, read_table, write_tables
from pyscale_stages.task import Task
from pyscale_stages.timing import TIMINGS
from pyscale_stages.windows import of_one_measurement


def merge(task: Task, others: tuple[str, ...] = ()) -> None:
    """Put the tables of all workers one below the other, and number the workers.

    Each did all tests, at the same time as the others or on another node: their rows stand beside
    each other, and none replaces another. `others`: names of tables beside the timings.
    """
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
    write_tables(task, joined)
    task.write_whole(found[0][1])
    task.count(objects=len(joined[TIMINGS]))
