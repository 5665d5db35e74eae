"""One series of a grid as a report tells it: points that differ in size and in versus alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

import polars as pl

from pyscale.analysis.grid.findings import Ceiling, GridFindings, Win
from pyscale.analysis.intervals import repeats_needed
from pyscale.wording import grouped, ratio
from pyscale_stages.wording import plural

T = TypeVar("T")
Row = dict[str, Any]
DEVICE = "device"
DEVICES = {"cpu": "CPU", "cuda": "GPU (CUDA)", "mps": "GPU (Metal)", "gpu": "GPU"}
OF_LATER_CALLS = "median over calls after the first of their process, then over trials"
OF_FIRST_CALLS = "median over trials of the first call of a process, with its one-time costs"
OF_A_TABLE = "median of the times in the table, whose source defines what they include"
"""What the time of a call is."""


def named(value: str | None) -> str:
    """Name a value of versus; devices have words."""
    return DEVICES.get(value or "", value or "")


def the(value: str | None) -> str:
    """Name it inside a sentence."""
    return f"the {DEVICES[value]}" if value in DEVICES else value or ""


def size(length_px: float) -> str:
    """Name the size of an image: the side of a square of as many pixels."""
    return f"{length_px:.0f} px"


def ratio_title(bases: Iterable[str | None]) -> str:
    """Name an axis of ratios, by their baseline where that is one with a short name."""
    known = list(dict.fromkeys(bases))
    if len(known) == 1 and known[0] in DEVICES:
        return f"Times as fast as {the(known[0])}"
    return "Times as fast"


def ends(rows: list[T]) -> list[T]:
    """The first and the last of what is in order."""
    return rows if len(rows) < 2 else [rows[0], rows[-1]]


def flattens(found: Ceiling) -> str:
    """Say in few words whether a ratio reaches a ceiling, and which."""
    if found.ceiling is None:
        return f"no ceiling from {plural(found.sizes, 'size')}"
    if found.shape == "logarithmic":
        return f"no ceiling up to {size(found.largest_px)}"
    perhaps = "perhaps " if found.shape == "undecided" else ""
    return f"{perhaps}flattens at {ratio(found.ceiling)} [{ratio(found.low)}, {ratio(found.high)}]"


LINE, POINT = itemgetter("value", "workers"), itemgetter("stage", "workers")
"""What names a line, and a point, in the tables of a series."""
F = TypeVar("F", Ceiling, Win)


@dataclass(frozen=True)
class Line:
    """Points that differ in size alone."""

    name: str
    """As a legend has it: the value of versus, and N where there are several."""
    value: str | None
    """Of versus."""
    base: str | None
    """What it is compared with; None for the first value itself."""
    points: list[Row]
    """By rising size."""
    compared: Mapping[str, list[Row]]
    """By measure: ratios to the base by rising size, of points that did the same work."""
    ceilings: Mapping[str, Ceiling]
    """By measure: where these ratios end."""
    wins: Mapping[str, Win]
    """By measure: from which size on it is faster than its base."""

    def timed(self, measure: str) -> list[Row]:
        """Points of which this was measured."""
        return [row for row in self.points if row[f"{measure}_s"] is not None]

    def ratios(self, measure: str) -> list[Row]:
        """Ratios by this measure."""
        return self.compared.get(measure, [])


@dataclass(frozen=True)
class Sweep:
    """A series of a family, with all that was found of it."""

    name: str
    grid: GridFindings
    series: str

    @cached_property
    def points(self) -> list[Row]:
        """Rows of the table of points, by size, then in the order of the suite.

        Each also has the name of its `line`, the rows of its `ratio`, of its `parts` in their order
        and of what is `unaided` of these: None, or none, where that is not known.
        """
        return sorted(self._points, key=_length)

    @cached_property
    def _points(self) -> list[Row]:
        """The same in the order of the suite."""
        rows = self.of(self.grid.points)
        several = len({row["workers"] for row in rows}) > 1
        parts = grouped((POINT(row), row) for row in self.of(self.grid.parts))
        unaided = {POINT(row): row for row in self.of(self.grid.unaided)}
        compared = (row for row in self._ratios if row["measure"] == self.measure)
        ratios = {(*LINE(row), row["pixels"]): row for row in compared}
        return [
            row
            | {
                "line": (named(row["value"]) or self.name) + f", N = {row['workers']}" * several,
                "ratio": ratios.get((*LINE(row), row["pixels"])),
                "parts": parts.get(POINT(row), []),
                "unaided": unaided.get(POINT(row)),
            }
            for row in rows
        ]

    @cached_property
    def _ratios(self) -> list[Row]:
        """Ratios of points that did the same work, by rising size."""
        rows = self.of(self.grid.ratios)
        return sorted((row for row in rows if not row["invalid"]), key=_length)

    @cached_property
    def measure(self) -> str:
        """Measure that stands for the time of a call: later ones, where a process made several."""
        is_steady = self.grid.points.filter(series=self.series)["steady_s"].is_not_null().any()
        return "steady" if is_steady else "first"

    @cached_property
    def is_table(self) -> bool:
        """Whether its times were measured elsewhere: of a run every point has its cores."""
        return all(row["threads"] is None for row in self.points)

    @cached_property
    def call(self) -> str:
        """What the time of a call is."""
        if self.is_table:
            return OF_A_TABLE
        return OF_LATER_CALLS if self.measure == "steady" else OF_FIRST_CALLS

    @cached_property
    def is_timed(self) -> bool:
        """Whether any call was."""
        return any(row[f"{self.measure}_s"] is not None for row in self.points)

    @cached_property
    def lines(self) -> list[Line]:
        """Points by value of versus and N, in the order of the suite."""
        ratios = grouped((LINE(row), row) for row in self._ratios)
        return [
            Line(
                name=rows[0]["line"],
                value=rows[0]["value"],
                base=next((row["base"] for row in rows if row["base"] is not None), None),
                points=sorted(rows, key=_length),
                compared=grouped((row["measure"], row) for row in ratios.get(key, [])),
                ceilings=self._by_measure(self.grid.ceilings, key),
                wins=self._by_measure(self.grid.wins, key),
            )
            for key, rows in grouped((LINE(row), row) for row in self._points).items()
        ]

    def _by_measure(self, found: Iterable[F], key: object) -> dict[str, F]:
        own = (self.series, key)
        return {o.measure: o for o in found if (o.series, (o.value, o.workers)) == own}

    @cached_property
    def compared(self) -> list[Line]:
        """Lines that have a ratio to their base."""
        return [line for line in self.lines if line.ratios(self.measure)]

    def of(self, table: pl.DataFrame) -> list[Row]:
        """Rows of another table that belong to this series."""
        return table.filter(series=self.series).to_dicts()


def _length(row: Row) -> float:
    return row["length_px"] or 0.0


def point_name(row: Row) -> str:
    """Name a point of a sweep by its line and size; one without a size as the suite does."""
    px = row["length_px"]
    return f"{row['line']}, {size(px)}" if px else str(row["stage"])


def codes(row: Row) -> list[str]:
    """Flags of a point; published times raise none but that of their few trials."""
    few = ["few-repeats"] if row["trials"] < repeats_needed() else []
    return list(dict.fromkeys([*few, *(row["flags"] or [])]))


def sweeps(grids: Sequence[GridFindings]) -> list[Sweep]:
    """Split grids into their series, in the order of the suite."""
    found = []
    for grid in grids:
        several = grid.points["series"].unique(maintain_order=True)
        for series in several:
            name = f"{grid.family} ({series})" if len(several) > 1 and series else grid.family
            found.append(Sweep(name=name, grid=grid, series=series))
    return found
