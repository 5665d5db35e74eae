"""Reads a table of times by device and image size; an error is one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from pyscale.analysis.grid.axes import SIZE
from pyscale.analysis.grid.tablepoints import BASE_KIND, KINDS, device_of
from pyscale.errors import UserError
from pyscale.report.table import REQUIRED
from pyscale.report.tabletext import check_columns, parsed_rows, read_text, typed

TIME, OTHER_TIME = "wall_s", "time_s"
"""Column of times, and another name that it may have."""
NEEDED = ("device", SIZE, TIME)
OPTIONAL = ("stage", "repeat", "block")
KEY = ("stage", "device", SIZE, "repeat", "block")
"""Columns that together name one row."""


def has_sizes(path: Path) -> bool:
    """Whether a CSV sweeps over sizes: it has a column `length_px`, and none of workers.

    Raises
    ------
    UserError
        If the file cannot be read.
    """
    columns = read_text(path, REQUIRED).columns
    return SIZE in columns and "workers" not in columns


def read_sizes(path: Path) -> pl.DataFrame:
    """Read a CSV of times by device and size that were measured elsewhere.

    Parameters
    ----------
    path : Path
        One row a trial. Columns `device` (`[machine-]kind[-model]`, such as `desktop-gpu-rtx4070`
        or `cpu`; the kind is one of cpu, gpu, cuda and mps), `length_px` (of a square image) and
        `wall_s` or `time_s`; where there are several stages `stage`, and of repeated trials
        `repeat`, or `block` where trials with the same one ran close in time. Others are ignored.

    Returns
    -------
    polars.DataFrame
        What `pyscale.analysis.grid.findings.grid_findings_of_table` takes: `device`, `length_px`,
        `wall_s`, and `stage`, `repeat` and `block` where the file has them.

    Raises
    ------
    UserError
        If the file or a value in it cannot be used.
    """
    table = read_text(path, NEEDED)
    if TIME in table.columns and OTHER_TIME in table.columns:
        raise UserError(f"{path} has both {TIME!r} and {OTHER_TIME!r}: keep one of them")
    time = OTHER_TIME if OTHER_TIME in table.columns else TIME
    needed = ("device", SIZE, time)
    check_columns(path, table.columns, needed=needed, known=(*needed, *OPTIONAL))
    given = [column for column in table.columns if column in {*needed, *OPTIONAL}]
    rows = parsed_rows(path, table.select(given), needed=given, what="time")
    _check_devices(path, rows)
    _check_repeats(path, rows)
    return typed(rows, given).rename({time: TIME})


def _check_devices(path: Path, rows: list[tuple[int, dict[str, Any]]]) -> None:
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


def _check_repeats(path: Path, rows: list[tuple[int, dict[str, Any]]]) -> None:
    """Refuse rows that cannot be told apart."""
    seen: dict[tuple[Any, ...], int] = {}
    for line, row in rows:
        key = tuple(row.get(column) for column in KEY)
        if key in seen:
            raise UserError(
                f"{path}, line {line} repeats line {seen[key]} ({row['device']} at "
                f"{row[SIZE]:g} px): number repeated trials in a column 'repeat'"
            )
        seen[key] = line
