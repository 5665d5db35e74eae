"""Plots over N: speedup, wall time, throughput, memory and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyscale.analysis.intervals import repeats_needed
from pyscale.report import scalingkind
from pyscale.report.curves import Curve, timed_curves
from pyscale.report.plots.besidecurves import (
    asked_rows,
    ideal_rows,
    law_rows,
    reference_ideals,
    reference_rows,
    trial_rows,
)
from pyscale.report.plots.curverows import configuration_rows, headings, stand_ins
from pyscale.report.plots.plot import CROSS, NO_BARS, Along, Beside, Plot, Row, Value, told_by
from pyscale.report.results import Results
from pyscale.report.wording import listing

WHICH = {"curve": "Stage", "workers": "Workers N"}
SURE = {"timed": "Timed trials", "doubts": "Doubts"}
RANGES = f"Thin bars: shortest to longest of fewer than {repeats_needed()} trials."

ELSEWHERE = "on other machines, up to the largest N here"


def speedup(results: Results) -> Plot:
    """Speedup over the baseline, with fitted laws, and what others measured of the same stages."""
    shown = _Curves.of(results)
    references = reference_rows(shown.found, results.references)
    titles = list(dict.fromkeys(row["title"] for row in references))
    elsewhere = {
        "title": "Measured elsewhere",
        "stage": "Its stage",
        "curve": "Stands beside",
        "workers": "Workers N",
        "speed": "Speedup",
        "wall": "Wall time there",
        "hardware": "Hardware",
        "source": "Source",
    }
    laws = shown.laws("speedup")
    return shown.plot(
        id="speedup",
        title="Speedup over workers",
        value=Value(
            column="speedup",
            title=scalingkind.speedup_title(shown.found),
            scale="log2",
            relative="efficiency",
            relative_title="Efficiency: speedup over the ideal",
        ),
        seen={"speed": "Speedup", "efficient": "Efficiency", "wall": "Wall time"}
        | {"base": "Baseline"},
        first="Marks, joined: ratios of median wall times. Dashed: ideal.",
        bars=f"Bars: 95 % intervals by bootstrap; {NO_BARS}",
        sentences=[
            *_told_of_laws(laws),
            *([f"Hollow and grey: {listing(titles)}, {ELSEWHERE}."] if titles else []),
            *filter(None, [scalingkind.legend(shown.found)]),
        ],
        beside=[
            shown.ideal(reference_ideals(shown.found, references)),
            laws,
            Beside(kind="elsewhere", dataset="references", rows=references, seen=elsewhere),
        ],
        told="speed",
        absent="speedups: no trial of it was timed, so measure it again",
    )


def walltime(results: Results) -> Plot:
    """Wall time of every configuration and of every trial, with fitted laws."""
    shown = _Curves.of(results)
    seen = {**WHICH, "repeat": "Repeat", "wall": "Wall time", "state": "Page cache"}
    laws = shown.laws("wall_s")
    singles = trial_rows(shown.found, results.trials)
    return shown.plot(
        id="walltime",
        title="Wall time over workers",
        value=Value(
            column="wall_s",
            title="Wall time (s)",
            relative="wall_share",
            relative_title="Wall time over the baseline",
        ),
        seen={"wall": "Wall time", "speed": "Speedup", "worker_s": "Worker-seconds"},
        first="Marks, joined: medians. Grey, set to the left: single trials. Dashed: ideal scaling "
        "of the baseline.",
        bars=f"Bars: 95 % intervals of the median by order statistics; {NO_BARS}",
        sentences=_told_of_laws(laws),
        beside=[
            shown.ideal(),
            laws,
            Beside(kind="single", dataset="trials", rows=singles, seen=seen),
        ],
        told="wall",
        absent="wall times: no trial of it was timed, so measure it again",
        is_together=False,
    )


def throughput(results: Results) -> Plot:
    """Work per second, of the stages whose work is known."""
    shown = _Curves.of(results)
    return shown.plot(
        id="throughput",
        title="Throughput over workers",
        value=Value(
            column="rate",
            title="Frames or units of work per second",
            relative="each",
            relative_title="Per second and worker",
        ),
        seen={"rated": "Throughput", "work": "Work", "wall": "Wall time"},
        first="Marks, joined: of median wall times. Dashed: ideal.",
        bars=f"Bars: 95 % intervals; {NO_BARS}",
        beside=[shown.ideal()],
        told="rated",
        absent="throughput: it needs the work of each trial, in a table of wall times the column "
        "`work`",
    )


def memory(results: Results) -> Plot:
    """Peak memory of a task, and what was asked for."""
    shown = _Curves.of(results)
    asked = asked_rows(shown.found)
    title = "Peak memory of a task (GiB)"
    return shown.plot(
        id="memory",
        title="Memory of a task over workers",
        value=Value(
            column="memory_gib",
            title=title,
            scale="linear",
            relative="memory_share" if asked else "memory_gib",
            relative_title="Peak memory over what was asked for"
            if asked
            else f"{title}; none was asked for",
        ),
        seen={"memory": "Peak of any task", "asked": "Asked for", "enough": "Enough"},
        first="The highest of all trials.",
        sentences=["Short line: what was asked for."] if asked else [],
        beside=[Beside(kind="asked", dataset="asked", rows=asked)],
        told="memory",
        absent="memory: it needs the peak of each task, in a table of wall times the column "
        "`peak_memory_bytes`",
    )


def cost(results: Results) -> Plot:
    """What a trial costs: money where there are prices, else core-hours."""
    shown = _Curves.of(results)
    is_priced = any(row["money"] for row in shown.rows)
    column = "money" if is_priced else "core_hours"
    currency = next((row["price"].split()[-1] for row in shown.rows if row["money"]), "")
    unit = f"Cost ({currency})" if is_priced else "Core-hours"
    each = any(row[f"{column}_each"] for row in shown.rows)
    return shown.plot(
        id="cost",
        title="Cost over workers",
        value=Value(
            column=column,
            title=unit,
            scale="linear",
            relative=f"{column}_each" if each else column,
            relative_title=f"{unit} per frame or unit of work"
            if each
            else f"{unit}; the work is not known",
        ),
        seen={"cores": "Core-hours", "gpus": "GPU-hours", "price": "Price", "wall": "Wall time"},
        first="Mean over the timed trials; perfect scaling would cost the same at every N.",
        told="price" if is_priced else "cores",
        absent="the cost: it needs the cores of each trial, in a table of wall times the column "
        "`cpus`",
    )


def _told_of_laws(laws: Beside) -> list[str]:
    names = listing(dict.fromkeys(row["law"] for row in laws.rows))
    return [f"Dotted, in its 95 % band: {names}, fitted to all trials."] if names else []


@dataclass(frozen=True)
class _Curves:
    """The curves of which a trial was timed."""

    results: Results
    found: list[Curve]
    rows: list[Row]

    @classmethod
    def of(cls, results: Results) -> _Curves:
        about = results.about_workers()
        found = timed_curves(about.configurations)
        return cls(about, found, configuration_rows(found))

    def ideal(self, others: list[Row] | None = None) -> Beside:
        return Beside(
            kind="ideal", dataset="ideal", rows=[*ideal_rows(self.found), *(others or [])]
        )

    def laws(self, column: str) -> Beside:
        """Fitted laws, where they tell this column."""
        rows = law_rows(self.found, self.results.fits)
        told = rows if any(column in row for row in rows) else []
        seen = {"curve": "Stage", "law": "Law", "sure": "Band"}
        return Beside(kind="law", dataset="laws", rows=told, seen=seen)

    def plot(
        self,
        *,
        value: Value,
        seen: dict[str, str],
        first: str,
        told: str,
        bars: str = "",
        sentences: list[str] | None = None,
        beside: list[Beside] | None = None,
        is_together: bool = True,
        **words: Any,
    ) -> Plot:
        """Draw a value of every configuration; `first` and `bars` say what the marks are."""
        drawn = [row for row in self.rows if row[value.column]]
        rows = self.rows if drawn else []
        has_crosses = any(row["invalid"] for row in drawn)

        def known(end: str) -> bool:
            return any(row.get(value.column + end) is not None for row in drawn)

        return Plot(
            dataset="configurations",
            rows=rows,
            along=Along(column="workers", title="Workers N"),
            value=value,
            series="curve",
            known=[curve.name for curve in self.found],
            seen=WHICH | seen | SURE,
            sentences=[
                first,
                *([bars] if known("_low") else []),
                *([RANGES] if known("_min") else []),
                *(sentences or []),
                *([CROSS] if has_crosses else []),
            ],
            told=told_by(drawn, "curve", lambda row: f"{row[told]} at N = {row['workers']}"),
            is_joined=True,
            is_together=is_together,
            is_aside=is_together,
            has_own_scales=not is_together,
            headings=headings(self.found, self.results.context),
            beside=beside or [],
            printed=stand_ins(self.found, self.results.context),
            crossed="invalid" if has_crosses else None,
            **words,
        )
