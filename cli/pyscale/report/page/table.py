"""A table of the page: what its cells hold, and how configurations are laid out in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pydantic import Field

from pyscale.report.curves import Curve
from pyscale.report.page.values import Cell
from pyscale_stages.contract import Record

Row = dict[str, Any]
Writer = Callable[[Row], Cell]
"""What a column shows of one configuration."""


class Column(Record):
    """One column."""

    name: str
    means: str = Field("", description="What it is, for those who do not know the word")
    is_text: bool = Field(False, description="Whether it holds words, which stand at the left")


class Line(Record):
    """One row, after the name of its curve."""

    cells: tuple[Cell, ...]
    is_invalid: bool = Field(False, description="Whether it did other work than the baseline")


class Group(Record):
    """The rows of one curve, or of what else the table names."""

    name: str
    lines: tuple[Line, ...]


class Table(Record):
    """What a table of the page shows."""

    caption: str
    head: str = Field("Stage", description="What the names of the groups are")
    columns: tuple[Column, ...] = Field(description="After the one with the names of the groups")
    groups: tuple[Group, ...]


def laid_out(
    caption: str,
    found: Iterable[Curve],
    columns: Sequence[tuple[Column, Writer]],
    *,
    knows: Sequence[str] = (),
    rows: Callable[[Curve], list[Row]] = lambda curve: curve.timed,
) -> Table | None:
    """Lay out configurations of which any column of `knows` is known; None where there are none."""
    groups = []
    for curve in found:
        lines = tuple(
            Line(cells=tuple(write(row) for _, write in columns), is_invalid=row["invalid"])
            for row in rows(curve)
            if not knows or any(row[column] is not None for column in knows)
        )
        if lines:
            groups.append(Group(name=curve.name, lines=lines))
    if not groups:
        return None
    return Table(
        caption=caption, columns=tuple(column for column, _ in columns), groups=tuple(groups)
    )
