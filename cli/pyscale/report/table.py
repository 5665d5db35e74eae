"""Reads a user's table of wall times; an error is one sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from pyscale.errors import UserError
from pyscale.report.tabletext import DATES, check_columns, parsed_rows, read_text, typed

REQUIRED = ("stage", "workers", "wall_s")
COLUMNS = (
    *REQUIRED,
    "repeat",
    "block",
    "task",
    "tasks",
    "mean_task_s",
    "sd_task_s",
    "work",
    "energy_j",
)
BESIDE = (
    *("trial", "tasks_done", "start", "end", "cpus", "gpus", "cpu_s"),
    *("requested_memory_bytes", "peak_memory_bytes", "node", "state"),
)
"""Columns that `pyscale import` writes beside; other tables may have them too."""
NOT_ANALYSED = ("trial", "state")
"""Columns for people, over which the analysis passes."""
ROUNDING = 1.01
"""Published means and wall times are rounded, so that one may seem to exceed the other."""
KEY = ("stage", "workers", "repeat", "task")
"""Columns that together name one row, with `block` in place of `repeat` where there is one."""


def read_wall_times(path: Path) -> pl.DataFrame:
    """Read a CSV of wall times that were measured elsewhere.

    Parameters
    ----------
    path : Path
        One row per trial, or per task where there is a column `task`. Columns `stage`,
        `workers` and `wall_s`, and any of `COLUMNS` and `BESIDE`. Others are ignored.

    Returns
    -------
    polars.DataFrame
        What `pyscale.analysis.walltimes.trials_from_wall_times` takes.

    Raises
    ------
    UserError
        If the file or a value in it cannot be used.
    """
    table = read_text(path, REQUIRED)
    _check_columns(path, table.columns)
    analysed = [column for column in (*COLUMNS, *BESIDE) if column not in NOT_ANALYSED]
    given = [column for column in analysed if column in table.columns]
    needed = (*REQUIRED, "repeat", "block", "task")
    rows = parsed_rows(path, table.select(given), needed=needed, what="wall time")
    _check_rows(path, rows)
    _put_on_one_clock(path, rows)
    return typed(rows, given)


def _check_columns(path: Path, columns: list[str]) -> None:
    check_columns(path, columns, needed=REQUIRED, known=(*COLUMNS, *BESIDE))
    if "mean_task_s" in columns and "task" in columns:
        raise UserError(
            f"{path} has both 'task' and 'mean_task_s': keep one (a row is one task, or the mean "
            "of all)"
        )


def _check_rows(path: Path, rows: list[tuple[int, dict[str, Any]]]) -> None:
    """Find rows that cannot be told apart, and trials whose tasks do not add up."""
    numbered = "block" if "block" in rows[0][1] else "repeat"
    seen: dict[tuple[Any, ...], int] = {}
    tasks: dict[tuple[Any, ...], int] = {}
    for line, row in rows:
        key = tuple(row.get(numbered if column == "repeat" else column) for column in KEY)
        if key in seen:
            raise UserError(
                f"{path}, line {line} repeats line {seen[key]} ({row['stage']} at "
                f"{row['workers']} workers): number repeated trials in a column {numbered!r}, or "
                "name the tasks of one trial in a column 'task'"
            )
        seen[key] = line
        tasks[key[:3]] = tasks.get(key[:3], 0) + 1
        busy_s = (row.get("mean_task_s") or 0) * (row.get("tasks") or row["workers"])
        held_s = row["workers"] * row["wall_s"]
        if busy_s > ROUNDING * held_s:
            raise UserError(
                f"{path}, line {line}: {busy_s:g} s of tasks exceed {row['workers']} workers x "
                f"{row['wall_s']:g} s: check mean_task_s and wall_s"
            )
    if "task" not in rows[0][1]:
        return
    for (stage, workers, number), count in tasks.items():
        if count != workers:
            which = "" if number is None else f", {numbered} {number}"
            raise UserError(
                f"{path} has {count} tasks of {stage} at {workers} workers{which}: give one row "
                "for each worker"
            )


def _put_on_one_clock(path: Path, rows: list[tuple[int, dict[str, Any]]]) -> None:
    """Take dates without a time zone for UTC, where none has one: only differences count."""
    first: tuple[int, datetime] | None = None
    for line, row in rows:
        for column in DATES:
            date = row.get(column)
            if date is None:
                continue
            known = first or (line, date)
            if (date.tzinfo is None) != (known[1].tzinfo is None):
                zoned, bare = (line, known[0]) if date.tzinfo else (known[0], line)
                raise UserError(
                    f"{path}: the date in line {zoned} has a time zone, that in line {bare} has "
                    "none: write all alike, or remove the columns start and end"
                )
            first = known
            row[column] = date if date.tzinfo else date.replace(tzinfo=UTC)
        start, end = row.get("start"), row.get("end")
        if start is not None and end is not None and end < start:
            raise UserError(f"{path}, line {line}: end is before start: check both")
