"""A plot of marks with intervals, in words that the page and print both draw from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from pydantic import Field

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.palette import SHAPES
from pyscale_stages.contract import Record

Row = dict[str, Any]

ENDS = ("_low", "_high")
"""Of columns with the ends of an interval."""
WITH_ENDS = ("", *ENDS)
RANGE = ("_min", "_max")
"""Of columns with the ends of a range of few trials."""
NO_BARS = f"none where fewer than {repeats_needed()} trials were timed."
CROSS = (
    "Cross: invalid, with no bar: its output is not the baseline's, and a ratio would compare two "
    "different results."
)


class Value(Record):
    """What was measured: the axis that the caption on the page names."""

    column: str = Field(
        description="Of the rows; with `_low` and `_high` for its interval, or `_min` and `_max` "
        "for the range of too few trials"
    )
    title: str = Field(description="What it is, with its unit")
    scale: Literal["log", "log2", "linear"] = Field(
        "log", description="Logarithmic to base 10 or 2, where ratios count, else from 0"
    )
    relative: str | None = Field(None, description="Column that the page shows instead, if asked")
    relative_title: str = Field("", description="What that is, with its unit")


class Beside(Record):
    """More rows of the same panels, series and columns of values."""

    kind: Literal["ideal", "law", "single", "elsewhere", "asked"] = Field(
        description="`ideal`: a dashed line, in a band where it has ends; `law`: a dotted line in "
        "its band; `single`: small grey marks, set to the left; `elsewhere`: hollow grey marks "
        "with the `title` of their source; `asked`: short lines"
    )
    dataset: str = Field(description="What the page calls them")
    rows: list[Row] = Field(description="Numbers that are drawn, and texts that are told of them")
    seen: dict[str, str] = Field({}, description="Columns that are told of one, and what they are")


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
    is_together: bool = Field(
        False, description="Whether the page draws all panels upon each other"
    )
    is_aside: bool = Field(
        False, description="Whether series stand side by side, so that no mark hides another"
    )
    has_own_scales: bool = Field(
        False, description="Whether each panel has a scale of values of its own, in its own unit"
    )
    headings: dict[str, list[str]] = Field(
        {}, description="Lines above a panel in print, by the name of the panel"
    )
    beside: list[Beside] = Field([], description="What is drawn below the marks, in this order")
    printed: list[str] = Field([], description="More sentences of the caption in print")
    level: str | None = Field(None, description="Column that says where a dashed line lies across")
    front: str | None = Field(
        None,
        description="Column that says which marks a stepped line joins, with what `label` holds",
    )
    ringed: str | None = Field(None, description="Column that says which marks have a ring")
    crossed: str | None = Field(
        None, description="Column that says which rows have a cross in place of a mark"
    )

    @property
    def drawn(self) -> list[Row]:
        """Rows whose value is known."""
        return [row for row in self.rows if row[self.value.column] is not None]

    @property
    def panels(self) -> list[str]:
        """Names of the panels, in order; empty where there is nothing to tell apart."""
        return list(dict.fromkeys(row["curve"] for row in self.drawn))

    @property
    def names(self) -> list[str]:
        """Series that occur here."""
        found = {row[self.series] for row in self.drawn}
        return [name for name in self.known if name in found]

    @property
    def elsewhere(self) -> list[Row]:
        """What was measured elsewhere."""
        return [row for one in self.beside if one.kind == "elsewhere" for row in one.rows]

    @property
    def only_elsewhere(self) -> list[str]:
        """Series that occur elsewhere alone."""
        names = dict.fromkeys(row[self.series] for row in self.elsewhere)
        return [name for name in names if name not in self.names]

    @property
    def looks(self) -> dict[str, tuple[int, int]]:
        """Places of the colour and of the shape of each series among those of the palette.

        A colour that comes again comes with another shape.
        """
        every = list(dict.fromkeys([*self.known, *self.only_elsewhere]))
        places = {name: every.index(name) for name in [*self.names, *self.only_elsewhere]}
        most = len(SHAPES)
        return {name: (at % most, (at + at // most) % most) for name, at in places.items()}

    @property
    def counts(self) -> list[float]:
        """Where marks stand along an axis."""
        return sorted({row[self.along.column] for row in self.rows})

    @property
    def lanes(self) -> list[str]:
        """Names that the marks lie beside, from above; none where they lie along an axis."""
        if self.along.kind != "names":
            return []
        return list(dict.fromkeys(row[self.along.column] for row in self.rows))

    def ends(self, rows: list[Row], *ends: str) -> list[str]:
        """Those ends of columns that any of these rows knows of the value."""
        column = self.value.column
        return [end for end in ends if any(row.get(column + end) is not None for row in rows)]


def told_by(rows: Iterable[Row], column: str, words: Callable[[Row], str]) -> str:
    """State what is seen of every row, in a sentence for each value of a column."""
    told: dict[str, list[str]] = {}
    for row in rows:
        told.setdefault(row[column], []).append(words(row))
    return " ".join(
        f"{name}: {'; '.join(said)}." if name else f"{'; '.join(said)}."
        for name, said in told.items()
    )


def sure(row: Row, column: str, written: Callable[[float], str], unit: str) -> str:
    """Tell the interval of a value."""
    low, high = (row[column + end] for end in ENDS)
    return "none" if low is None else f"{written(low)} to {written(high)} {unit}".rstrip()


def trials_told(count: int) -> str:
    """Tell how many trials were timed."""
    few = "" if count >= repeats_needed() else ", too few for an interval"
    return f"{count}{few}"


def ends_of(name: str, row: Row, column: str | None = None, factor: float = 1.0) -> Row:
    """A value and its interval, in the unit that the factor makes."""
    column = column or name
    return {
        f"{name}{end}": None if row[f"{column}{end}"] is None else factor * row[f"{column}{end}"]
        for end in WITH_ENDS
    }
