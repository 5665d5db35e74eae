"""Numbers of the page that a CSV holds too, each with the place where it stands there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from pyscale.report.wording import ABSENT
from pyscale_stages.contract import Record

CONFIGURATION = ("suite", "stage", "device", "workers")
"""Columns whose values name a row of the table of configurations."""
START = ("stage", "device", "workers")
"""The same for the table of cold and warm starts."""
VERSIONS = ("stage", "device", "workers")
"""The same for the comparison of two versions."""
PART = (*CONFIGURATION, "part")
"""The same for the table of losses."""
POINT = ("suite", "stage", "workers")
"""The same for the table of points."""
RATIO = ("suite", "family", "series", "value", "workers", "measure", "pixels")
"""The same for the table of ratios."""
CALL_PART = (*POINT, "part")
"""The same for the table of the parts of a call."""
MACHINE_TEST = (
    *("kind", "stage", "workers", "node", "hardware", "device", "test", "step", "at_once"),
)
"""The same for the table of tests of the machine."""
MACHINE_NODE = (
    *("kind", "stage", "workers", "device", "test", "step", "at_once", "node", "hardware"),
)
"""The same for the comparison of nodes."""
HEADROOM = ("stage", "workers", "node")
"""The same for what stages read beside what the storage gives."""
LOADER_POINT = ("stage", "workers")
"""The same for configurations that load patches."""
LOADER_RANK = ("stage", "workers", "rank", "node")
"""The same for what each of their ranks delivers."""
RECONSTRUCT = ("stage", "workers", "component")
"""The same for components of a distributed reconstruction."""
RECONSTRUCT_POINT = ("stage", "workers")
"""The same for what an entry of such reconstructions gave at one N."""

Row = Mapping[str, Any]


class Value(Record):
    """A number as it is read, and as the CSV has it."""

    table: str = Field(description="A key of the tables in `pyscale.report.csv`")
    key: str = Field(description="Values that name its row, with | between; None is empty")
    column: str
    raw: str = Field(description="At full precision")
    text: str = Field(description="As people read it")


Cell = tuple[Value | str, ...]
"""What stands in one cell of a table: numbers, and text around them."""


def cell_text(cell: Cell) -> str:
    """Text of a cell."""
    return "".join(part.text if isinstance(part, Value) else part for part in cell)


def value(row: Row, column: str, text: str) -> Value | str:
    """Tie the text for one number of a configuration to the CSV; what is absent is only text."""
    return value_of("configurations", CONFIGURATION, row, column, text)


def value_of(table: str, columns: tuple[str, ...], row: Row, column: str, text: str) -> Value | str:
    """Tie the text for one number of any table, whose rows these columns name."""
    if row[column] is None:
        return text
    return Value(
        table=table, key=key(row, columns), column=column, raw=repr(row[column]), text=text
    )


def part_value(row: Row, column: str, text: str) -> Value:
    """Tie the text for one number of a part of the worker-seconds to the CSV."""
    return Value(
        table="losses", key=key(row, PART), column=column, raw=repr(row[column]), text=text
    )


def cell(row: Row, column: str, written: Callable[[Any], str]) -> Cell:
    """One number of a configuration."""
    return (value(row, column, written(row[column])),)


def with_interval(row: Row, column: str, written: Callable[[Any], str]) -> Cell:
    """One number of a configuration, with its interval where there is one."""
    return interval_of("configurations", CONFIGURATION, row, column, written)


def interval_of(
    table: str,
    columns: tuple[str, ...],
    row: Row,
    column: str,
    written: Callable[[Any], str],
) -> Cell:
    """One number of any table, with its interval where there is one."""
    low, high = (f"{column}_{end}" for end in ("low", "high"))
    found = value_of(table, columns, row, column, written(row[column]))
    if ABSENT in {written(row[low]), written(row[high])}:
        return (found,)
    first, last = (value_of(table, columns, row, end, written(row[end])) for end in (low, high))
    return (found, " [", first, ", ", last, "]")


def key(row: Row, columns: tuple[str, ...]) -> str:
    """Values that name a row."""
    return "|".join("" if row[column] is None else str(row[column]) for column in columns)
