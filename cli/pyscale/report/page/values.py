"""Numbers of the page that a CSV holds too, each with the place where it stands there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from pyscale.report.dictionary import WAYS, WORDS, Written, entry, meaning
from pyscale.report.wording import ABSENT, number
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


CONFIGURATIONS = Numbers(table="configurations", key=("suite", "stage", "device", "workers"))
LOSSES = Numbers(table="losses", key=(*CONFIGURATIONS.key, "part"))
STARTS = Numbers(table="starts", key=("stage", "device", "workers"))
VERSIONS = Numbers(table="versions", key=("stage", "device", "workers"))
POINTS = Numbers(table="points", key=("suite", "stage", "workers"))
RATIOS = Numbers(
    table="ratios", key=("suite", "family", "series", "value", "workers", "measure", "pixels")
)
CALL_PARTS = Numbers(table="parts", key=(*POINTS.key, "part"))
_OF_TEST = ("kind", "stage", "workers")
TESTS = Numbers(
    table="tests", key=(*_OF_TEST, "node", "hardware", "device", "test", "step", "at_once")
)
NODES = Numbers(
    table="nodes", key=(*_OF_TEST, "device", "test", "step", "at_once", "node", "hardware")
)
MEASURES = Numbers(table="measures", key=("suite", "stage", "device", "workers", "name"))
HEADROOM = Numbers(table="headroom", key=("stage", "workers", "node"))
LOADER = Numbers(table="loader", key=("stage", "workers"))
LOADER_RANKS = Numbers(table="loader_ranks", key=("stage", "workers", "rank", "node"))
COMPONENTS = Numbers(table="reconstruct", key=("stage", "workers", "component"))
RECONSTRUCTIONS = Numbers(table="reconstruct_points", key=("stage", "workers"))


def cell_text(cell: Cell) -> str:
    """Text of a cell."""
    return "".join(part.text if isinstance(part, Value) else part for part in cell)
