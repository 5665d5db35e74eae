"""Plots of marks with intervals, and stacked bars: words that the page and print both draw from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.palette import SHAPES
from pyscale.wording import listing

Row = dict[str, Any]
Width = Literal[88, 180]
"""Of a figure for print, in millimetres: one column of a journal, or two."""

ENDS, RANGE = ("_low", "_high"), ("_min", "_max")
"""Of columns with the ends of an interval, and of a range of few trials."""
WITH_ENDS = ("", *ENDS)


def bars(what: str = "") -> str:
    """Say what the bars of a plot are."""
    few = f"none where fewer than {repeats_needed()} trials were timed."
    return f"Bars: 95 % intervals{what}; {few}"


OF_MEDIANS, BY_BOOTSTRAP = bars(" of the median by order statistics"), bars(" by bootstrap")


@dataclass(frozen=True)
class Value:
    """What was measured: the axis that the caption on the page names."""

    column: str  # with `_low` and `_high` for its interval, `_min` and `_max` for a range
    title: str
    scale: Literal["log", "log2", "linear"] = "log"  # base 10 or 2 where ratios count, else from 0
    prints_from_0: bool = False  # in print, where no reader changes the scale
    relative: str | None = None  # column that the page shows instead, if asked
    relative_title: str = ""


@dataclass(frozen=True)
class Along:
    """What the values are drawn along: names below each other, or an axis below."""

    column: str
    title: str = ""
    # Counts are logarithmic, with a tick at each that was measured; `linear` begins at 0.
    kind: Literal["names", "counts", "linear"] = "counts"


WORKERS = Along("workers", "Workers N")


@dataclass(frozen=True)
class Beside:
    """More rows of the same panels, series and columns of values.

    `ideal` is a dashed line, in a band where it has ends; `law` a dotted line in its band; `single`
    are small grey marks, set to the left; `elsewhere` hollow grey marks with the `title` of their
    source; `asked` short lines.
    """

    kind: Literal["ideal", "law", "single", "elsewhere", "asked"]
    dataset: str
    rows: list[Row]
    seen: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What plots and stacked bars have in common."""

    id: str
    title: str
    dataset: str  # what the page calls the rows
    rows: list[Row]  # numbers that are drawn, and texts that are told of them
    seen: dict[str, str]  # columns told of a mark that is pointed at, and what they are
    sentences: Sequence[str]  # how to read it
    printed: Sequence[str] = ()  # more of them, in print
    absent: str  # what there is no figure of without rows, and what it needs
    headings: dict[str, list[str]] = field(default_factory=dict)  # in print, above each panel
    crossed: str | None = None  # column that says what is invalid: it has a cross


@dataclass(frozen=True, kw_only=True)
class Plot(Declared):
    """A mark for each row, by series in colour and shape, a panel for each value of `curve`."""

    along: Along = WORKERS
    value: Value
    series: str  # column that colours and shapes tell apart
    known: Sequence[str] = ()  # its values in order, so that each keeps its look; else as in rows
    told: str  # what can be seen, for those who do not see it
    is_joined: bool = False  # by a line for each series
    is_together: bool = False  # on the page all panels lie upon each other
    is_aside: bool = False  # series stand side by side, so that no mark hides another
    has_own_scales: bool = False  # a scale of values for each panel, in its own unit
    beside: Sequence[Beside] = ()  # below the marks, in this order
    level: str | None = None  # column that says where a dashed line lies across
    front: str | None = None  # column that says what a stepped line joins, with the texts `label`
    ringed: str | None = None  # column that says which marks have a ring

    @property
    def drawn(self) -> list[Row]:
        """Rows whose value is known."""
        return [row for row in self.rows if row[self.value.column] is not None]

    @property
    def panels(self) -> list[str]:
        """Names of the panels, in order."""
        return each(self.drawn, "curve")

    @property
    def names(self) -> list[str]:
        """Series that occur here."""
        found = each(self.drawn, self.series)
        return [name for name in self._known if name in found]

    @property
    def _known(self) -> Sequence[str]:
        return self.known or each(self.rows, self.series)

    @property
    def elsewhere(self) -> list[Row]:
        """What was measured elsewhere."""
        return [row for one in self.beside if one.kind == "elsewhere" for row in one.rows]

    @property
    def only_elsewhere(self) -> list[str]:
        """Series that occur elsewhere alone."""
        return [name for name in each(self.elsewhere, self.series) if name not in self.names]

    @property
    def looks(self) -> dict[str, tuple[int, int]]:
        """Places of the colour and of the shape of each series among those of the palette.

        A colour that comes again comes with another shape.
        """
        every = list(dict.fromkeys([*self._known, *self.only_elsewhere]))
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
        return each(self.rows, self.along.column) if self.along.kind == "names" else []


@dataclass(frozen=True)
class Amount:
    """What the height of a part is."""

    column: str
    title: str
    level: str | None = None  # column that says where a line lies across a whole bar


@dataclass(frozen=True, kw_only=True)
class Stack(Declared):
    """Bars of parts, a panel for each value of `panel`.

    A row is a `part`, with its `order` from the axis, its `share`, and that as text in `shared`.
    """

    panel: str = "curve"
    along: Along = WORKERS
    at: str = "N = {}"  # how a bar is named in a sentence
    absolute: Amount  # on the page first
    relative: Amount  # of whole bars that are equal
    prints: Literal["absolute", "relative"]
    parts: dict[str, str]  # in the order in which bars stack them, with the names of their colours

    @property
    def panels(self) -> list[str]:
        """Names of the panels, in order."""
        return each(self.rows, self.panel)

    @property
    def bars(self) -> list[Any]:
        """Names of the bars, from the smallest number."""
        return sorted({row[self.along.column] for row in self.rows}, key=float)

    @property
    def names(self) -> dict[str, str]:
        """Parts that occur, and their colours."""
        seen = each(self.rows, "part")
        return {name: colour for name, colour in self.parts.items() if name in seen}

    @property
    def told(self) -> str:
        """The largest parts of the last bar of each panel."""
        told = []
        for name in self.panels:
            own = [row for row in self.rows if row[self.panel] == name]
            last = max((row[self.along.column] for row in own), key=float)
            parts = (row for row in own if row[self.along.column] == last)
            largest = sorted(parts, key=lambda row: -row["share"])[:3]
            shares = listing(f"{row['part']} {row['shared']}" for row in largest)
            told.append(f"{name} at {self.at.format(last)}: {shares}.")
        return " ".join(told)


def known_ends(rows: Sequence[Row], column: str, *ends: str) -> list[str]:
    """Those ends of columns that any of these rows knows of a value."""
    return [end for end in ends if any(row.get(column + end) is not None for row in rows)]


def each(rows: Iterable[Row], column: str) -> list[Any]:
    """Values of a column, each once, in order."""
    return list(dict.fromkeys(row[column] for row in rows))


def said(*sentences: str | bool | None) -> list[str]:
    """Those of the sentences that apply."""
    return [one for one in sentences if one and isinstance(one, str)]


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


def ends_of(
    name: str, row: Row, column: str | None = None, factor: float = 1.0, over: float = 1.0
) -> Row:
    """A value and its interval, in the unit that the factor and the divisor make."""
    known = {end: row[f"{column or name}{end}"] for end in WITH_ENDS}
    return {f"{name}{end}": None if at is None else factor * at / over for end, at in known.items()}
