"""Tables of the page and of the text: cells, whose numbers stand in a CSV too, and their layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

from pydantic import Field

from pyscale.analysis import flags
from pyscale.report.dictionary import WAYS, WORDS, Written, declarations, entry, meaning
from pyscale.wording import ABSENT, number
from pyscale_stages.contract import Record

Row = dict[str, Any]


class Column(Record):
    """One column of a table."""

    name: str
    means: str = Field("", description="What it is, for those who do not know the word")
    is_text: bool = Field(False, description="Whether it holds words, which stand at the left")


class Value(Record):
    """A number as it is read, and as the CSV has it."""

    table: str = Field(description="A key of the tables in `pyscale.report.csv`")
    key: str = Field(description="Values that name its row, with | between; None is empty")
    column: str
    raw: str = Field(description="At full precision")
    text: str = Field(description="As people read it")


Cell = tuple[Value | str, ...]
"""What stands in one cell of a table: numbers, and text around them."""
Writer = Callable[[Row], Cell]
"""What a column shows of one row."""
Columns = list[tuple[Column, Writer]]


class Numbers(Record):
    """The numbers of one table: each is tied to its row and column of the table's CSV."""

    table: str = Field(description="A key of the tables in `pyscale.report.csv`")
    key: tuple[str, ...] = Field(description="Columns whose values name a row")

    @classmethod
    def of(cls, table: str) -> Numbers:
        """Take the key from the dictionary."""
        return cls(table=table, key=tuple(declarations()["rows"][table]["key"].split()))

    def value(self, row: Row, column: str, text: str) -> Value | str:
        """Tie a text for one number; what is absent is only text."""
        if row[column] is None:
            return text
        named = "|".join("" if row[name] is None else str(row[name]) for name in self.key)
        raw = repr(row[column])
        return Value(table=self.table, key=named, column=column, raw=raw, text=text)

    def columns(self, *names: str) -> Columns:
        """Columns as the dictionary declares them."""
        return [self.column(name) for name in names]

    def column(
        self, name: str, write: Writer | None = None, *, head: str = "", means: str | None = None
    ) -> tuple[Column, Writer]:
        """A column as the dictionary declares it, but for what is given."""
        known = entry(self.table, name)
        is_text, written = known.written in WORDS, WAYS[known.written]
        ends = "; 95 % interval" if known.interval else ""
        shown = Column(
            name=head or known.head,
            means=f"{meaning(self.table, name)}{ends}" if means is None else means,
            is_text=is_text,
        )
        if write is None and is_text:
            return shown, lambda row: (
                ABSENT if row[name] is None else written(row[name]) or ABSENT,
            )
        of_one = self.interval if known.interval else self.plain
        return shown, write or (self.of_several if known.of_several else of_one)(name, written)

    def cell(self, row: Row, column: str, written: Written = number) -> Cell:
        """Write one number."""
        if row[column] is None:
            return (ABSENT,)
        return (self.value(row, column, written(row[column])),)

    def interval_cell(self, row: Row, column: str, written: Written = number) -> Cell:
        """Write one number with its interval where there is one."""
        found, low, high = (
            self.cell(row, f"{column}{end}", written) for end in ("", "_low", "_high")
        )
        return found if (ABSENT,) in {low, high} else (*found, " [", *low, ", ", *high, "]")

    def plain(self, column: str, written: Written = number) -> Writer:
        """Make the writer of a column of numbers."""
        return lambda row: self.cell(row, column, written)

    def interval(self, column: str, written: Written = number) -> Writer:
        """Make the writer of a column of numbers with their intervals."""
        return lambda row: self.interval_cell(row, column, written)

    def of_several(self, column: str, written: Written = number) -> Writer:
        """Make the writer of a column of numbers that one worker alone has not."""
        return lambda row: (ABSENT,) if row["workers"] == 1 else self.cell(row, column, written)


CONFIGURATIONS = Numbers.of("configurations")
LOSSES = Numbers.of("losses")
VERSIONS = Numbers.of("versions")
POINTS = Numbers.of("points")
RATIOS = Numbers.of("ratios")
CALL_PARTS = Numbers.of("parts")
TESTS = Numbers.of("tests")
NODES = Numbers.of("nodes")
MEASURES = Numbers.of("measures")
LOADER = Numbers.of("loader")
LOADER_RANKS = Numbers.of("loader_ranks")
COMPONENTS = Numbers.of("reconstruct")
RECONSTRUCTIONS = Numbers.of("reconstruct_points")


def cell_text(cell: Cell) -> str:
    """Text of a cell."""
    return "".join(part.text if isinstance(part, Value) else part for part in cell)


class Line(Record):
    """One row, after its name."""

    cells: tuple[Cell, ...]
    is_invalid: bool = Field(False, description="Whether no ratio of it holds")


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
            cells = (tuple((re.sub(r" \[.*?\]", "", text),) for text in line) for line in texts)
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
        # Tables without that column have flags.
        is_invalid = bool(row.get("invalid")) or flags.is_invalid(row.get("flags") or [])
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
