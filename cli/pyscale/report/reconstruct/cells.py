"""Cells of the tables of reconstruction: numbers of an iteration and of its components."""

from __future__ import annotations

from pyscale.report.page.values import COMPONENTS, RECONSTRUCTIONS, Cell, Row, Writer, Written
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.words import MILLI
from pyscale.report.wording import ABSENT, number, ratio


def milliseconds(value: float | None) -> str:
    """Write a time in milliseconds, the unit of all times of an iteration."""
    return number(None if value is None else value / MILLI)


def decibels(value: float) -> str:
    """Write a difference in dB with its sign, and one that rounds to nothing without."""
    return f"{value:+z.2f}".replace("+0.00", "0.00")


def component(parts: Parts, name: str, column: str, written: Written) -> Writer:
    """Write one number of a component of a point."""
    return lambda row: COMPONENTS.cell(parts.component(row, name), column, written)


def iteration(row: Row) -> Cell:
    """Write how long an iteration takes; what has no time says why."""
    if row["wall_s"] is None:
        return ("out of memory" if row["exhausted"] else "failed" if row["failed"] else ABSENT,)
    return RECONSTRUCTIONS.interval_cell(row, "wall_s", milliseconds)


def speedup(parts: Parts, name: str) -> Writer:
    """Write the speedup of a component; at N0 itself there is none."""

    def write(row: Row) -> Cell:
        if row["workers"] == row["baseline_workers"]:
            return ("baseline",)
        return COMPONENTS.interval_cell(parts.component(row, name), "speedup", ratio)

    return write
