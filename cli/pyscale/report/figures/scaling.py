"""Marks of configurations against N, which the figures of wall time and of speedup share."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyscale.analysis.intervals import repeats_needed
from pyscale.report import palette
from pyscale.report.curves import Curve, curves
from pyscale.report.figures.house import (
    IDEAL_LINE,
    INVALID,
    NothingToDrawError,
    Sheet,
    Width,
    drawn,
    in_panels,
)
from pyscale.report.results import Results
from pyscale.report.wording import number

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

# Single trials stand this fraction of the axis left of their configuration, where they hide
# neither the median nor its interval; but at most this fraction of the way to the next one.
ASIDE, GAP = 0.04, 0.3
ENDS = ("_low", "_high")
NO_INTERVAL = f"none is drawn where fewer than {repeats_needed()} trials were timed."


@dataclass(frozen=True)
class Scaling:
    """The curves of a figure, each in a panel of its own."""

    found: list[Curve]
    sheet: Sheet

    @classmethod
    def of(cls, results: Results, width_mm: Width) -> Scaling:
        """Take the curves of which a trial was timed.

        Raises
        ------
        NothingToDrawError
            If there is none.
        """
        found = [curve for curve in curves(results.configurations) if curve.timed]
        if not found:
            raise NothingToDrawError(
                f"there is no figure of {results.context.title}, as no trial of it was timed: "
                "measure it again"
            )
        return cls(found, Sheet(len(found), width_mm))

    def only(self, table: pl.DataFrame) -> Scaling:
        """Keep the curves of which another table has rows."""
        found = [curve for curve in self.found if not curve.select(table).is_empty()]
        return Scaling(found, Sheet(len(found), self.sheet.width_mm))

    @property
    def titles(self) -> list[str]:
        """Texts above the panels."""
        return [self.panel(curve) for curve in self.found]

    @property
    def counts(self) -> list[int]:
        """Every N that was timed in any curve."""
        return sorted({row["workers"] for curve in self.found for row in curve.timed})

    @property
    def any_invalid(self) -> bool:
        """Whether there is a cross to explain."""
        return any(row["invalid"] for curve in self.found for row in curve.timed)

    @property
    def aside_octaves(self) -> float:
        """By how many doublings of N one mark stands beside another, far from the next N."""
        places = [math.log2(n) for n in self.counts]
        gaps = [right - left for left, right in itertools.pairwise(places)]
        return min(ASIDE * max(1.0, places[-1] - places[0]), *(GAP * gap for gap in gaps), 1.0)

    def aside(self, places: float = 1) -> float:
        """Return the factor of N at which a mark stands so many places left of it."""
        return float(2 ** (-self.aside_octaves * places))

    def medians(self, *, invalid: bool) -> pd.DataFrame:
        """Wall time and speedup of every valid configuration, or of every invalid one."""
        columns = [f"{value}{end}" for value in ("wall_s", "speedup") for end in ("", *ENDS)]
        rows = [
            row | {"panel": self.panel(curve)}
            for curve in self.found
            for row in curve.timed
            if row["invalid"] == invalid
        ]
        return self.table(["workers", *columns], rows)

    def singles(self, trials: pl.DataFrame) -> pd.DataFrame:
        """Wall time of every timed trial, left of its configuration."""
        aside = self.aside()
        return self.table(
            ["workers", "wall_s"],
            [
                {
                    "panel": self.panel(curve),
                    "workers": row["workers"] * aside,
                    "wall_s": row["wall_s"],
                }
                for curve in self.found
                for row in curve.select(trials).filter("valid").iter_rows(named=True)
            ],
        )

    def ideal(self, value: str) -> Any:
        """Line of the base case's work divided evenly, at every count that was measured.

        `value` is "wall_s" or "speedup". A curve of one configuration has no such line.
        """
        from plotnine import aes, geom_line

        rows = [
            {
                "panel": self.panel(curve),
                "workers": row["workers"],
                "speedup": row["workers"] / curve.timed[0]["workers"],
                "wall_s": row["growth"] * curve.timed[0]["worker_seconds"] / row["workers"],
            }
            for curve in self.found
            if len(curve.timed) > 1
            for row in curve.timed
        ]
        table = self.table(["workers", "speedup", "wall_s"], rows)
        return drawn(geom_line(aes("workers", value), table, **IDEAL_LINE))

    def marks(self, value: str) -> Any:
        """Points of all configurations with their intervals, as layers of a figure."""
        from plotnine import aes, geom_errorbar, geom_point

        low, high = (f"{value}{end}" for end in ENDS)
        valid, invalid = (self.medians(invalid=which) for which in (False, True))
        with_interval = valid.dropna(subset=[low, high])
        return drawn(
            geom_errorbar(
                aes("workers", ymin=low, ymax=high),
                with_interval,
                color=palette.MEASURED,
                size=0.5,
                width=0.75 * self.aside_octaves,
            ),
            geom_point(aes("workers", value), valid, color=palette.MEASURED, size=1.7, stroke=0),
            geom_point(aes("workers", value), invalid, **INVALID),
        )

    def panel(self, curve: Curve) -> str:
        """Text above the panel of a curve: what it is, and the base case with its wall time."""
        base = curve.timed[0]
        told = f"base case N = {base['workers']}: {number(base['wall_s'])} s"
        return self.sheet.title(curve.name, told)

    def table(self, columns: list[str], rows: list[dict[str, Any]]) -> pd.DataFrame:
        """Rows for plotnine, with panels in the order of the curves; there may be none."""
        return in_panels(columns, rows, self.titles)
