"""Cells of the tables of reconstruction: numbers tied to the CSV that holds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyscale.analysis.flags import flags_of
from pyscale.report.ofranks import Row
from pyscale.report.page.values import (
    RECONSTRUCT,
    RECONSTRUCT_POINT,
    Cell,
    Value,
    interval_of,
    value_of,
)
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.words import MILLI
from pyscale.report.wording import ABSENT, number, ratio

Writer = Callable[[Row], Cell]
Written = Callable[[Any], str]


def milliseconds(value: float | None) -> str:
    """Write a time in milliseconds, the unit of all times of an iteration."""
    return number(None if value is None else value / MILLI)


def decibels(value: float) -> str:
    """Write a difference in dB with its sign, and one that rounds to nothing without."""
    return f"{value:+z.2f}".replace("+0.00", "0.00")


def value(row: Row, column: str, text: str) -> Value | str:
    """Tie one number of a point to the CSV."""
    return value_of("reconstruct_points", RECONSTRUCT_POINT, row, column, text)


def component_value(row: Row, column: str, text: str) -> Value | str:
    """Tie one number of a component to the CSV."""
    return value_of("reconstruct", RECONSTRUCT, row, column, text)


def point(column: str, written: Written) -> Writer:
    """Write one number of a point."""

    def write(row: Row) -> Cell:
        known = row[column]
        return (ABSENT,) if known is None else (value(row, column, written(known)),)

    return write


def of_several(column: str, written: Written) -> Writer:
    """Write one number of a point with several ranks; one rank alone has none."""
    write = point(column, written)
    return lambda row: (ABSENT,) if row["workers"] == 1 else write(row)


def component(parts: Parts, name: str, column: str, written: Written) -> Writer:
    """Write one number of a component of a point."""

    def write(row: Row) -> Cell:
        found = parts.component(row, name)
        known = found[column]
        if known is None:
            return (ABSENT,)
        return (component_value(found, column, written(known)),)

    return write


def component_interval(parts: Parts, name: str, column: str, written: Written) -> Writer:
    """Write one number of a component of a point, with its interval where there is one."""

    def write(row: Row) -> Cell:
        found = parts.component(row, name)
        if found[column] is None:
            return (ABSENT,)
        return interval_of("reconstruct", RECONSTRUCT, found, column, written)

    return write


def iteration(row: Row) -> Cell:
    """Write how long an iteration takes; what has no time says why."""
    if row["wall_s"] is None:
        return ("out of memory" if row["exhausted"] else "failed" if row["failed"] else ABSENT,)
    return interval_of("reconstruct_points", RECONSTRUCT_POINT, row, "wall_s", milliseconds)


def speedup(parts: Parts, name: str) -> Writer:
    """Write the speedup of a component; at N0 itself there is none."""
    write = component_interval(parts, name, "speedup", ratio)
    return lambda row: ("baseline",) if row["workers"] == row["baseline_workers"] else write(row)


def doubts(row: Row) -> Cell:
    """Flags of a point, and the error of one that failed."""
    told = [*flags_of(row), *([row["error"]] if row["error"] else [])]
    return ("; ".join(told) or ABSENT,)
