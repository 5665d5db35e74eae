"""A table of the page and of the text: what its cells hold, and how rows are laid out in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from pydantic import Field

from pyscale.report.page.values import Cell, Column, Columns, Row, Writer, cell_text
from pyscale.report.wording import ABSENT
from pyscale_stages.contract import Record


class Line(Record):
    """One row, after its name."""

    cells: tuple[Cell, ...]
    is_invalid: bool = Field(False, description="Whether it did other work than the baseline")


class Group(Record):
    """The rows of one name."""

    name: str
    lines: tuple[Line, ...]


class Table(Record):
    """What a table shows."""

    caption: str
    head: str = Field("Stage", description="What the names of the groups are")
    columns: tuple[Column, ...] = Field(description="After the one with the names of the groups")
    groups: tuple[Group, ...]

    @property
    def header(self) -> list[str]:
        """Names of all columns."""
        return [self.head, *(column.name for column in self.columns)]

    @property
    def texts(self) -> list[list[str]]:
        """Rows as texts; each begins with its name."""
        return [
            [group.name, *map(cell_text, line.cells)]
            for group in self.groups
            for line in group.lines
        ]

    def in_short(self, left_out: Collection[str]) -> Table:
        """Leave out columns of these names, and all intervals: a terminal has no room for them."""
        places = [place for place, one in enumerate(self.columns) if one.name not in left_out]
        groups = []
        for group in self.groups:
            texts = ([cell_text(line.cells[place]) for place in places] for line in group.lines)
            cells = (tuple((text.partition(" [")[0],) for text in line) for line in texts)
            lines = tuple(Line(cells=own) for own in cells)
            groups.append(Group(name=group.name, lines=lines))
        columns = tuple(self.columns[place] for place in places)
        return self.model_copy(update={"columns": columns, "groups": tuple(groups)})


def numbers(name: str, write: Writer, means: str = "") -> tuple[Column, Writer]:
    """Declare a column of numbers."""
    return Column(name=name, means=means), write


def words(name: str, text: Callable[[Row], str | None], means: str = "") -> tuple[Column, Writer]:
    """Declare a column of words."""
    return Column(name=name, means=means, is_text=True), lambda row: (text(row) or ABSENT,)


def laid_out(
    caption: str, rows: Iterable[tuple[str, Row]], columns: Columns, *, head: str = "Stage"
) -> Table | None:
    """Lay rows out under their names; columns of which nothing is known are left out.

    Returns None where there is no row, or nothing is known of any.
    """
    lines = [(name, [write(row) for _, write in columns], row) for name, row in rows]
    known = [
        place
        for place in range(len(columns))
        if any(cells[place] != (ABSENT,) for _, cells, _ in lines)
    ]
    if not known:
        return None
    groups: dict[str, list[Line]] = {}
    for name, cells, row in lines:
        # Of other work than the baseline's; tables without that column have a flag.
        is_invalid = bool(row.get("invalid")) or "disagrees" in (row.get("flags") or [])
        line = Line(cells=tuple(cells[place] for place in known), is_invalid=is_invalid)
        groups.setdefault(name, []).append(line)
    return Table(
        caption=caption,
        head=head,
        columns=tuple(columns[place][0] for place in known),
        groups=tuple(Group(name=name, lines=tuple(own)) for name, own in groups.items()),
    )


def yes_no(known: bool | None) -> str:
    """Write whether something is so; empty where that is unknown."""
    return "" if known is None else "yes" if known else "no"
