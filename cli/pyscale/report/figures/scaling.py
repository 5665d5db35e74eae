"""Marks of configurations against N, which the figures of wall time and of speedup share."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.laws import Fit
from pyscale.report import palette, scalingkind
from pyscale.report.curves import Curve, curves
from pyscale.report.figures.house import (
    CROSS,
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
# Single trials stand this fraction of the axis left of their configuration, where they hide
# neither the median nor its interval; but at most this fraction of the way to the next one.
ASIDE, GAP = 0.04, 0.3
ENDS = ("_low", "_high")
FEW = f"fewer than {repeats_needed()} trials"
LAWS = {"usl": "the universal scalability law", "amdahl": "Amdahl's law"}


@dataclass(frozen=True)
class Scaling:
    """The curves of a figure, each in a panel of its own."""

    found: list[Curve]
    sheet: Sheet
    results: Results

    @classmethod
    def of(cls, results: Results, width_mm: Width) -> Scaling:
        """Take the curves of which a trial was timed."""
        found = [curve for curve in curves(results.configurations) if curve.timed]
        if not found:
            raise NothingToDrawError(
                f"there is no figure of {results.context.title}, as no trial of it was timed: "
                "measure it again"
            )
        return cls(found, Sheet(len(found), width_mm), results)

    def only(self, table: pl.DataFrame) -> Scaling:
        """Keep the curves of which another table has rows."""
        found = [curve for curve in self.found if not curve.select(table).is_empty()]
        return Scaling(found, Sheet(len(found), self.sheet.width_mm), self.results)

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

    def singles(self) -> pd.DataFrame:
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
                for row in self.timed_trials(curve)
            ],
        )

    def timed_trials(self, curve: Curve) -> list[dict[str, Any]]:
        """Rows of the trials that were timed."""
        return curve.select(self.results.trials).filter("valid").to_dicts()

    def ideal(self, value: str) -> Any:
        """Line of the baseline's work divided evenly, at every count that was measured.

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

    def ranges(self, value: str) -> pd.DataFrame:
        """Smallest and largest value of single trials, where they are too few for an interval.

        Of a speedup, that of any trial over any of the baseline's.
        """
        rows = []
        for curve in self.found:
            timed: dict[int, list[float]] = {}
            for trial in self.timed_trials(curve):
                timed.setdefault(trial["workers"], []).append(trial["wall_s"])
            base = timed[curve.timed[0]["workers"]]
            for row in curve.timed:
                own = timed[row["workers"]]
                if row["wall_s_low"] is not None or row["invalid"] or len(own) < 2:
                    continue
                low, high = min(own), max(own)
                if value == "speedup":
                    if row is curve.timed[0]:
                        continue
                    low, high = (
                        row["growth"] * min(base) / high,
                        row["growth"] * max(base) / low,
                    )
                rows.append(
                    {"panel": self.panel(curve), "workers": row["workers"]}
                    | {"low": low, "high": high}
                )
        return self.table(["workers", "low", "high"], rows)

    def laws(self) -> dict[str, Fit]:
        """By panel: the universal scalability law or, where that has no fit, Amdahl's."""
        found = {}
        for curve in self.found:
            own = (fits for fits in self.results.fits if curve.owns(fits))
            fitted = [fit for fits in own for fit in (fits.usl, fits.amdahl) if fit.line]
            if fitted:
                found[self.panel(curve)] = fitted[0]
        return found

    def law_points(self, value: str) -> pd.DataFrame:
        """Fitted laws with the ends of their bands."""
        laws = self.laws()
        rows = []
        for curve in self.found:
            base, panel = curve.timed[0], self.panel(curve)
            # Wall times of other work than the baseline's are not what a law is about.
            if value == "wall_s" and scalingkind.is_scaled(base):
                continue
            for point in laws[panel].line if panel in laws else ():
                ends = (point.wall_s, point.wall_s_low, point.wall_s_high)
                if value == "speedup":
                    ends = tuple(base["wall_s"] / end for end in ends)
                rows.append(
                    {"panel": panel, "workers": point.workers}
                    | dict(zip(("at", "low", "high"), ends, strict=True))
                )
        return self.table(["workers", "at", "low", "high"], rows)

    def marks(self, value: str) -> Any:
        """Points of all configurations, joined, with intervals or ranges, as layers."""
        from plotnine import (
            aes,
            geom_errorbar,
            geom_line,
            geom_linerange,
            geom_point,
            geom_ribbon,
        )

        law = self.law_points(value)
        low, high = (f"{value}{end}" for end in ENDS)
        valid, invalid = (self.medians(invalid=which) for which in (False, True))
        with_interval = valid.dropna(subset=[low, high])
        joined = valid[valid.duplicated("panel", keep=False)]
        return drawn(
            geom_ribbon(aes("workers", ymin="low", ymax="high"), law, fill=palette.LAW, alpha=0.25),
            geom_line(aes("workers", value), joined, color=palette.MEASURED, size=0.4),
            geom_line(aes("workers", "at"), law, color=palette.LAW, size=0.6),
            geom_linerange(
                aes("workers", ymin="low", ymax="high"),
                self.ranges(value),
                color=palette.SINGLE,
                size=1.4,
                alpha=0.6,
            ),
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

    def sentences(self, value: str, interval: str) -> list[str]:
        """Caption of what the marks are: only what is drawn, with `interval` in words."""
        laws = list(dict.fromkeys(LAWS[fit.law] for fit in self.laws().values()))
        has_interval = any(
            row[f"{value}_low"] is not None for curve in self.found for row in curve.timed
        )
        return [
            *([f"Bars: {interval}."] if has_interval else []),
            *(
                [f"Thick grey: range of single trials ({FEW}: no interval)."]
                if len(self.ranges(value))
                else []
            ),
            *(
                [f"Green, with its 95 % band: {' or '.join(laws)}, fitted to all trials."]
                if len(self.law_points(value))
                else []
            ),
            *([CROSS] if self.any_invalid else []),
            *self.stand_ins,
        ]

    @property
    def stand_ins(self) -> list[str]:
        """Sentences on small models that ran in place of published ones in these panels."""
        works = self.results.context.works
        own = (works.get(curve.key["stage"]) for curve in self.found)
        return list(dict.fromkeys(work.stand_in for work in own if work and work.stand_in))

    def title(self, curve: Curve) -> str:
        """Stage and algorithm: on one line where there is room."""
        whole = self.results.context.named(curve.name, curve.key["stage"])
        if "\n" not in self.sheet.title(whole):
            return whole
        return self.sheet.title(*whole.split(": ", maxsplit=1))

    def panel(self, curve: Curve) -> str:
        """Text above the panel of a curve: stage and algorithm, and the baseline's wall time."""
        base = curve.timed[0]
        short = f"N = {base['workers']}: {number(base['wall_s'])} s"
        whole = f"baseline {short}"
        told = short if "\n" in self.sheet.title(whole) else whole
        return f"{self.title(curve)}\n{told}"

    def table(self, columns: list[str], rows: list[dict[str, Any]]) -> pd.DataFrame:
        """Rows for plotnine, with panels in the order of the curves; there may be none."""
        return in_panels(columns, rows, self.titles)
