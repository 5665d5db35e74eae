"""What a viewer shows: columns, and a line for every time and every part of it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pyscale.report.machine.testlabels import not_applicable, rate_parts
from pyscale.wording import coarse, grouped, number
from pyscale_stages.contract import Record

Kind = Literal["run", "reference", "table"]


class Property(Record):
    """One property of the hardware, as each column states it."""

    what: str
    values: tuple[str | None, ...] = Field(description="None where a column does not tell")
    differs: bool = Field(description="Whether columns that tell do not tell the same")


class Column(Record):
    """One set of results."""

    id: str = Field(description="A letter, by which rows and files name the column")
    name: str = Field(description="What it is, for people")
    kind: Kind
    about: str | None = Field(None, description="What else a reader must know of it, in a line")
    href: str | None = Field(None, description="Its own page, where there is one")


class Speedup(Record):
    """A time of the base over that of a column."""

    value: float | None = Field(None, description="Above 1 faster than the base")
    low: float | None = Field(None, description="Lower end of its interval, a 95 % bound")
    high: float | None = Field(None, description="Upper end of its interval, a 95 % bound")
    why_not: str | None = Field(None, description="Key of `Viewer.why_not` where there is none")
    of_rates: Literal[True] | None = Field(
        None, description="Where it is no ratio of times: amounts are not the same in both"
    )


class Tag(Record):
    """The likely bottleneck of one time."""

    text: str = Field(description="In a word or two")
    why: str = Field(description="What says so, in sentences")


class Cell(Record):
    """One time of one column, and how people read it."""

    wall_s: float | None = Field(description="None where nothing was timed")
    wall_s_low: float | None = Field(None, description="Lower end of its 95 % interval")
    wall_s_high: float | None = Field(None, description="Upper end of its 95 % interval")
    percent: float | None = Field(None, description="Of the column's sum that it is a part of")
    repeats: int | None = Field(None, description="Timed trials")
    amount: float | None = Field(None, description="How much each call did, in `unit`")
    unit: str | None = None
    rate: float | None = Field(None, description="Amount over time, in `unit` a second")
    device_name: str | None = Field(None, description="Of a GPU that did a test")
    cache: str | None = Field(None, description="Page cache of what was read")
    why_not: str | None = Field(None, description="Why there is no time, in words")
    invalid: bool = Field(False, description="Whether the output is not what it should be")
    tag: Tag | None = None
    speedups: tuple[Speedup | None, ...] = Field(
        description="Against each column; None against itself"
    )

    @property
    def cannot(self) -> str:
        """Why there is no time, as it stands in the table."""
        return "not timed" if self.why_not is None else not_applicable(self.why_not)

    @property
    def texts(self) -> dict[str, str]:
        """Its numbers as people read them."""
        scale, unit = rate_parts(self.rate, self.unit)
        return {
            "wall_s": number(self.wall_s),
            "wall_s_low": number(self.wall_s_low),
            "wall_s_high": number(self.wall_s_high),
            "percent": coarse(self.percent),
            "repeats": str(self.repeats),
            "rate": number(None if self.rate is None else self.rate / scale),
            "rate_unit": unit,
        }


class Row(Record):
    """One time of every column."""

    labels: dict[str, str | int | None] = Field(
        description="What names it within a column, as in the CSV"
    )
    group: str = Field(description="What it stands under", exclude=True)
    name: str = Field(description="What to call it")
    heads: bool = Field(False, description="Whether it sums up its group", exclude=True)
    part: bool = Field(False, description="Whether it is a part of the time above it")
    curve: str | None = Field(None, description="Name of the stage, as the whole page calls it")
    cells: tuple[Cell | None, ...] = Field(description="None where a column has no such time")

    def key(self, column: str) -> str:
        """What names the row of a column in the CSV."""
        values = (column, *self.labels.values())
        return "|".join("" if value is None else str(value) for value in values)


class Note(Record):
    """What says so, of one likely limit."""

    column: str | None = Field(None, description="Letter; None where it is of all")
    what: str
    why: str
    curve: str | None = None


class Layout(Record):
    """What one kind of viewer holds, and what it calls it."""

    id: str
    file: str = Field(description="Name of the table as a file, without its ending")
    names: tuple[str, ...] = Field(description="Labels of a row, in order")
    told: tuple[str, ...] = Field(description="What the file has of each time, in order")
    row: str = Field(description="What a row is")
    wholes: str = Field(description="What can be opened")
    title: str
    of_speedups: str = Field(description="What a speedup is, in sentences")
    of_percents: str = Field(description="What a percentage is, in sentences")
    hardware: str = Field(description="Title of the properties of the columns")
    notes: str = Field(description="Title of the notes")
    invalid: str | None = Field(None, description="Said of an invalid cell beside its tag")

    @property
    def source(self) -> str:
        """Column of the file that says what kind of results a column holds."""
        return "source" if "kind" in self.names else "kind"

    @property
    def no_speedup(self) -> str:
        """Column of the file that says why there is no speedup."""
        return "no_speedup" if "why_not" in self.told else "why_not"


class Viewer(Record):
    """Everything that stands side by side."""

    layout: Layout
    columns: tuple[Column, ...]
    properties: tuple[Property, ...]
    rows: tuple[Row, ...] = Field(description="By group, each before its parts")
    notes: tuple[Note, ...] = Field(exclude=True)
    why_not: dict[str, str] = Field(description="Sentences for the reasons that occur")
    of_rates: str | None = Field(None, description="What a ratio of rates is, where there is one")

    @property
    def data(self) -> dict[str, Any]:
        """What viewer.js reads."""
        layout = self.layout
        return self.model_dump(mode="json", exclude={"layout"}, exclude_none=True) | {
            "names": layout.names,
            "written": [name for name in layout.told if name in Cell.model_fields],
            "source": layout.source,
            "no_speedup": layout.no_speedup,
            "wholes": layout.wholes,
            "file": layout.file,
        }

    @property
    def shows_more_than_results(self) -> bool:
        """Whether there is something to compare, or a time to open into its parts."""
        return len(self.columns) > 1 or any(row.part for row in self.rows)

    @property
    def groups(self) -> dict[str, list[tuple[int, Row]]]:
        """Rows of every group, each with its place among all."""
        return grouped((row.group, (place, row)) for place, row in enumerate(self.rows))
