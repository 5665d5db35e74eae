"""What the viewer shows: columns, and a line for every stage, N and part of the time."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pyscale.report.wording import coarse, number
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
    why_not: str | None = Field(
        None, description="Key of `pyscale.analysis.sidebyside.WHY_NOT` where there is none"
    )
    of_rates: Literal[True] | None = Field(
        None, description="Where it is no ratio of times: amounts are not the same in both"
    )


class Tag(Record):
    """The likely bottleneck of one configuration."""

    text: str = Field(description="In a word or two")
    why: str = Field(description="What says so, in sentences")


class Timed(Record):
    """One time of one column, and how people read it."""

    wall_s: float | None = Field(description="None where nothing was timed")
    wall_s_low: float | None = Field(None, description="Lower end of its 95 % interval")
    wall_s_high: float | None = Field(None, description="Upper end of its 95 % interval")
    percent: float | None = Field(None, description="Of the column's sum that it is a part of")
    repeats: int | None = Field(None, description="Timed trials")
    tag: Tag | None = None
    speedups: tuple[Speedup | None, ...] = Field(
        description="Against each column; None against itself"
    )

    @property
    def time(self) -> str:
        """The time as people read it."""
        return number(self.wall_s)

    @property
    def low(self) -> str:
        """Lower end of its interval as people read it."""
        return number(self.wall_s_low)

    @property
    def high(self) -> str:
        """Upper end of its interval as people read it."""
        return number(self.wall_s_high)

    @property
    def share(self) -> str:
        """The percentage as people read it."""
        return coarse(self.percent)


class Cell(Timed):
    """One time of a stage at one N."""

    invalid: bool = Field(False, description="Whether the output is not that of its baseline")


class Row(Record):
    """One time of every column."""

    stage: str | None = Field(description="None for the sum over stages")
    device: str | None
    workers: int
    part: str | None = Field(description="None for the whole")
    name: str = Field(description="What to call it")
    curve: str | None = Field(description="Name of the stage, as the whole page calls it")
    cells: tuple[Cell | None, ...] = Field(description="None where a column has no such time")

    def key(self, column: str) -> str:
        """What names the row of a column in the CSV."""
        values = (column, self.stage, self.device, self.workers, self.part)
        return "|".join("" if value is None else str(value) for value in values)


class Viewer(Record):
    """Everything that stands side by side."""

    columns: tuple[Column, ...]
    properties: tuple[Property, ...]
    rows: tuple[Row, ...] = Field(description="By N, then by stage, each before its parts")
    why_not: dict[str, str] = Field(description="Sentences for the reasons that occur")

    @property
    def shows_more_than_results(self) -> bool:
        """Whether there is something to compare, or a time to open into its parts."""
        return len(self.columns) > 1 or any(row.part is not None for row in self.rows)

    @property
    def by_workers(self) -> dict[int, list[tuple[int, Row]]]:
        """Rows of every N, each with its place among all."""
        found: dict[int, list[tuple[int, Row]]] = {}
        for place, row in enumerate(self.rows):
            found.setdefault(row.workers, []).append((place, row))
        return found
