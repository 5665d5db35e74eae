"""One series of a grid as a report tells it: points that differ in size and in versus alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import polars as pl

from pyscale.analysis.grid.bysize import Ceiling, Win
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.intervals import repeats_needed
from pyscale.report.grid.words import Row, named, size
from pyscale.report.wording import grouped

OF_POINT = ("stage", "workers")
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
    workers: int
    points: list[Row]
    """Rows of the table of points, by rising size."""

    def timed(self, measure: str) -> list[Row]:
        """Points of which this was measured."""
        return [row for row in self.points if row[f"{measure}_s"] is not None]


@dataclass(frozen=True)
class Sweep:
    """A series of a family, with all that was found of it."""

    name: str
    grid: GridFindings
    series: str

    @cached_property
    def points(self) -> list[Row]:
        """Rows of the table of points, by size, then in the order of the suite."""
        return sorted(self.of(self.grid.points), key=lambda row: row["length_px"] or 0.0)

    @cached_property
    def measure(self) -> str:
        """Measure that stands for the time of a call: later ones, where a process made several."""
        return "steady" if any(row["steady_s"] is not None for row in self.points) else "first"

    @cached_property
    def is_timed(self) -> bool:
        """Whether any call was."""
        return any(row[f"{self.measure}_s"] is not None for row in self.points)

    @cached_property
    def lines(self) -> list[Line]:
        """Points by value of versus and N, in the order of the suite."""
        points = self.of(self.grid.points)
        found = grouped(((row["value"], row["workers"]), row) for row in points)
        several = len({workers for _, workers in found}) > 1
        return [
            Line(
                name=(named(value) or self.name) + (f", N = {workers}" if several else ""),
                value=value,
                base=next((row["base"] for row in rows if row["base"] is not None), None),
                workers=workers,
                points=sorted(rows, key=lambda row: row["length_px"] or 0.0),
            )
            for (value, workers), rows in found.items()
        ]

    def line_of(self, row: Row) -> str:
        """Name of the line that a row of any table belongs to."""
        return next(
            line.name
            for line in self.lines
            if (line.value, line.workers) == (row["value"], row["workers"])
        )

    def point_name(self, row: Row) -> str:
        """Name a point by its line and size; one without a size as the suite does."""
        px = row["length_px"]
        return f"{self.line_of(row)}, {size(px)}" if px else str(row["stage"])

    def ratios(self, line: Line, measure: str) -> list[Row]:
        """Ratios of a line to its base by rising size, of points that did the same work."""
        rows = (
            row
            for row in self.of(self.grid.ratios)
            if (row["value"], row["workers"], row["measure"]) == (line.value, line.workers, measure)
            and not row["invalid"]
        )
        return sorted(rows, key=lambda row: float(row["length_px"]))

    def ratio_of(self, point: Row) -> Row | None:
        """Ratio of a point to its base; None where there is none, or work was another."""
        line = next(one for one in self.lines if one.name == self.line_of(point))
        rows = self.ratios(line, self.measure)
        return next((row for row in rows if row["pixels"] == point["pixels"]), None)

    @cached_property
    def compared(self) -> list[Line]:
        """Lines that have a ratio to their base."""
        return [line for line in self.lines if self.ratios(line, self.measure)]

    def ceiling(self, line: Line, measure: str) -> Ceiling | None:
        """Ceiling of a line's ratios."""
        return next(self._of(self.grid.ceilings, line, measure), None)

    def win(self, line: Line, measure: str) -> Win | None:
        """From which size on a line is faster than its base."""
        return next(self._of(self.grid.wins, line, measure), None)

    def _of(self, found: Iterable[F], line: Line, measure: str) -> Iterator[F]:
        own = (self.series, line.value, line.workers, measure)
        return (one for one in found if own == (one.series, one.value, one.workers, one.measure))

    def parts(self, point: Row) -> list[Row]:
        """Parts of the calls of one point, in their order; none where they are not known."""
        return self._of_point(self.grid.parts, point)

    def unaided(self, point: Row) -> Row | None:
        """Parts of the calls of one point that are not sped up; None where unknown."""
        return next(iter(self._of_point(self.grid.unaided, point)), None)

    def _of_point(self, table: pl.DataFrame, point: Row) -> list[Row]:
        return [row for row in self.of(table) if all(row[n] == point[n] for n in OF_POINT)]

    def of(self, table: pl.DataFrame) -> list[Row]:
        """Rows of another table that belong to this series."""
        return table.filter(series=self.series).to_dicts()


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


def largest_px(found: Sequence[Sweep]) -> float | None:
    """Length of the largest image of any sweep; None where no size is known."""
    lengths = (row["length_px"] for sweep in found for row in sweep.points)
    return max((length for length in lengths if length is not None), default=None)
