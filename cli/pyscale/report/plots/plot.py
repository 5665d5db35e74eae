"""A plot of marks with intervals, in words that the page and print both draw from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from pydantic import Field

from pyscale_stages.contract import Record

Row = dict[str, Any]


class Value(Record):
    """What was measured: the axis that the caption on the page names."""

    column: str = Field(description="Of the rows; with `_low` and `_high` for its interval")
    title: str = Field(description="What it is, with its unit")
    scale: Literal["log", "log2", "linear"] = Field(
        "log", description="Logarithmic to base 10 or 2, where ratios count, else from 0"
    )
    relative: str | None = Field(None, description="Column that the page shows instead, if asked")
    relative_title: str = Field("", description="What that is, with its unit")
    has_bars: bool = Field(True, description="Whether intervals are drawn, where there are any")


class Beside(Record):
    """More rows of the same panels and series."""

    dataset: str = Field(description="What the page calls them")
    rows: list[Row] = Field(description="Numbers that are drawn, and texts that are told of them")
    seen: dict[str, str] = Field(description="Columns that are told of one, and what they are")


class Along(Record):
    """What the values are drawn along: names below each other, or an axis below."""

    column: str = Field(description="Of the rows")
    title: str = Field("", description="What it is, with its unit")
    kind: Literal["names", "counts", "linear"] = Field(
        "counts",
        description="Counts are logarithmic, with a tick at each that was measured; `linear` "
        "begins at 0",
    )


class Plot(Record):
    """A mark for each row, by series in colour and shape, a panel for each value of `curve`."""

    id: str = Field(description="What the page calls it")
    title: str = Field(description="What it shows")
    dataset: str = Field(description="What the page calls its rows")
    rows: list[Row] = Field(description="Numbers that are drawn, and texts that are told of them")
    along: Along = Field(description="The axis of what was varied")
    value: Value = Field(description="The axis of what was measured")
    series: str = Field(description="Column that colours and shapes tell apart")
    known: list[str] = Field(description="Its values in order, so that each keeps its look")
    seen: dict[str, str] = Field(
        description="Columns told of a mark that is pointed at, and what they are"
    )
    sentences: list[str] = Field(description="How to read it")
    told: str = Field(description="What can be seen in it, for those who do not see it")
    absent: str = Field(description="What there is no figure of without rows, and what it needs")
    is_joined: bool = Field(False, description="Whether lines join the marks of a series")
    has_own_scales: bool = Field(
        False, description="Whether each panel has a scale of values of its own, in its own unit"
    )
    headings: dict[str, list[str]] = Field(
        {}, description="Lines above a panel in print, by the name of the panel"
    )
    others: Beside | None = Field(
        None,
        description="What was measured elsewhere: grey broken lines by series, each with the "
        "`title` of its source",
    )
    ends: Beside | None = Field(
        None,
        description="Where series end: `ceiling` with `low` and `high`, between `from` and `to`",
    )
    printed: list[str] = Field([], description="More sentences of the caption in print")
    level: str | None = Field(None, description="Column that says where a dashed line lies across")
    ideal: str | None = Field(
        None, description="Column that says where a dashed line lies at each count"
    )
    aside: str | None = Field(
        None, description="Column with steps beside a count, so that no mark hides another"
    )
    front: str | None = Field(
        None,
        description="Column that says which marks a stepped line joins, with what `label` holds",
    )
    ringed: str | None = Field(None, description="Column that says which marks have a ring")

    @property
    def panels(self) -> list[str]:
        """Names of the panels, in order; empty where there is nothing to tell apart."""
        return list(dict.fromkeys(row["curve"] for row in self.rows))

    @property
    def names(self) -> list[str]:
        """Series that occur."""
        return [name for name in self.known if any(row[self.series] == name for row in self.rows)]

    @property
    def columns(self) -> list[str]:
        """Columns that are drawn."""
        value = self.value.column
        drawn = (self.along.column, value, f"{value}_low", f"{value}_high", self.series)
        front = (self.front, "label") if self.front else ()
        return [name for name in (*drawn, self.ringed, self.level, self.ideal, *front) if name]

    @property
    def lanes(self) -> list[str]:
        """Names that the marks lie beside, from above; none where they lie along an axis."""
        if self.along.kind != "names":
            return []
        return list(dict.fromkeys(row[self.along.column] for row in self.rows))


def told_by(rows: Iterable[Row], column: str, words: Callable[[Row], str]) -> str:
    """State what is seen of every row, in a sentence for each value of a column."""
    told: dict[str, list[str]] = {}
    for row in rows:
        told.setdefault(row[column], []).append(words(row))
    return " ".join(
        f"{name}: {'; '.join(said)}." if name else f"{'; '.join(said)}."
        for name, said in told.items()
    )
