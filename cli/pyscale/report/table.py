"""Reads a user's table of wall times, over workers or sizes; an error is one sentence."""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from pathlib import Path
from typing import Any

import polars as pl

from pyscale.analysis.grid.points import BASE_KIND, KINDS, SIZE, device_of
from pyscale.errors import UserError
from pyscale.report.tabletext import (
    DATES,
    check_columns,
    parsed_rows,
    read_text,
    refuse_repeats,
    typed,
)
from pyscale_stages.wording import plural

REQUIRED = ("stage", "workers", "wall_s")
COLUMNS = (
    *(*REQUIRED, "repeat", "block", "task", "tasks", "mean_task_s", "sd_task_s"),
    "work",
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
TIME, OTHER_TIME = "wall_s", "time_s"
"""Column of times in a table over sizes, and another name that it may have."""
OF_SIZES = ("stage", "repeat", "block")
"""Columns that a table over sizes may have beside."""
Rows = list[tuple[int, dict[str, Any]]]


def read_wall_times(path: Path) -> pl.DataFrame:
    """Read a CSV of wall times measured elsewhere, as `analysis.walltimes` takes them.

    It has a row per trial, or per task where there is a column `task`: `REQUIRED`, and any of
    `COLUMNS` and `BESIDE`. Others are ignored.
    """
    table = read_text(path, REQUIRED)
    check_columns(path, table.columns, needed=REQUIRED, known=(*COLUMNS, *BESIDE))
    if {"mean_task_s", "task"} <= {*table.columns}:
        raise UserError(
            f"{path} has both 'task' and 'mean_task_s': keep one (a row is one task, or the mean "
            "of all)"
        )
    analysed = [column for column in (*COLUMNS, *BESIDE) if column not in NOT_ANALYSED]
    given = [column for column in analysed if column in table.columns]
    needed = (*REQUIRED, "repeat", "block", "task")
    rows = parsed_rows(path, table, given, needed=needed, what="wall time")
    _check_rows(path, rows)
    _put_on_one_clock(path, rows)
    return typed(rows, given)


def _check_rows(path: Path, rows: Rows) -> None:
    """Find rows that cannot be told apart, and trials whose tasks do not add up."""
    number = "block" if "block" in rows[0][1] else "repeat"
    refuse_repeats(
        path,
        rows,
        ("stage", "workers", number, "task"),
        lambda row: f"{row['stage']} at {plural(row['workers'], 'worker')}",
        f"number repeated trials in a column {number!r}, or name the tasks of one trial in a "
        "column 'task'",
    )
    for line, row in rows:
        busy_s = (row.get("mean_task_s") or 0) * (row.get("tasks") or row["workers"])
        if busy_s > ROUNDING * row["workers"] * row["wall_s"]:
            raise UserError(
                f"{path}, line {line}: {busy_s:g} s of tasks exceed {row['workers']} workers x "
                f"{row['wall_s']:g} s: check mean_task_s and wall_s"
            )
    if "task" not in rows[0][1]:
        return
    tasks = Counter((row["stage"], row["workers"], row.get(number)) for _, row in rows)
    for (stage, workers, trial), count in tasks.items():
        if count != workers:
            which = "" if trial is None else f", {number} {trial}"
            raise UserError(
                f"{path} has {plural(count, 'task')} of {stage} at "
                f"{plural(workers, 'worker')}{which}: give one row for each worker"
            )


def _put_on_one_clock(path: Path, rows: Rows) -> None:
    """Take dates without a time zone for UTC, where none has one: only differences count."""
    dates = [row[column] for _, row in rows for column in DATES if row.get(column) is not None]
    if len({date.tzinfo is None for date in dates}) > 1:
        raise UserError(
            f"{path}: some dates have a time zone and others none: write all alike, or remove the "
            "columns start and end"
        )
    for line, row in rows:
        for column in DATES:
            if (date := row.get(column)) is not None:
                row[column] = date if date.tzinfo else date.replace(tzinfo=UTC)
        start, end = row.get("start"), row.get("end")
        if start is not None and end is not None and end < start:
            raise UserError(f"{path}, line {line}: end is before start: check both")


def has_sizes(path: Path) -> bool:
    """Whether a CSV sweeps over sizes: it has a column `length_px`, and none of workers."""
    columns = read_text(path, REQUIRED).columns
    return SIZE in columns and "workers" not in columns


def read_sizes(path: Path) -> pl.DataFrame:
    """Read a CSV of times by device and size measured elsewhere, as `analysis.grid` takes it.

    It has a row per trial: `device` (`[machine-]kind[-model]`, such as `desktop-gpu-rtx4070` or
    `cpu`; the kind is one of cpu, gpu, cuda and mps), `length_px` (of a square image) and `wall_s`
    or `time_s`; where there are several stages `stage`, and of repeated trials `repeat`, or `block`
    where trials with the same one ran close in time. Others are ignored.
    """
    table = read_text(path, ("device", SIZE, TIME))
    if {TIME, OTHER_TIME} <= {*table.columns}:
        raise UserError(f"{path} has both {TIME!r} and {OTHER_TIME!r}: keep one of them")
    time = OTHER_TIME if OTHER_TIME in table.columns else TIME
    needed = ("device", SIZE, time)
    check_columns(path, table.columns, needed=needed, known=(*needed, *OF_SIZES))
    given = [column for column in table.columns if column in {*needed, *OF_SIZES}]
    rows = parsed_rows(path, table, given, needed=given, what="time")
    _check_devices(path, rows)
    refuse_repeats(
        path,
        rows,
        ("stage", "device", SIZE, "repeat", "block"),
        lambda row: f"{row['device']} at {row[SIZE]:g} px",
        "number repeated trials in a column 'repeat'",
    )
    return typed(rows, given).rename({time: TIME})


def _check_devices(path: Path, rows: Rows) -> None:
    """Refuse names without a kind of device, and a machine with two baselines."""
    base_of: dict[tuple[Any, str], str] = {}
    for line, row in rows:
        name = row["device"]
        device = device_of(name)
        if device is None:
            raise UserError(
                f"{path}, line {line}: device {name!r} must name one of {', '.join(KINDS)}: "
                "write [machine-]kind[-model], such as desktop-gpu-rtx4070"
            )
        if device.kind != BASE_KIND:
            continue
        known = base_of.setdefault((row.get("stage"), device.machine), name)
        if known != name:
            raise UserError(
                f"{path}, line {line}: {name} and {known} are both the CPU (the baseline) of one "
                "machine: put the machine's name before the kind"
            )
