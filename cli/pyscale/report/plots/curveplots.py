"""Plots over N: speedup, wall time, throughput, memory and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyscale.analysis.intervals import repeats_needed
from pyscale.report import scalingkind
from pyscale.report.curves import Curve, timed_curves
from pyscale.report.plots.curverows import (
    asked_rows,
    configuration_rows,
    headings,
    ideal_rows,
    law_rows,
    reference_ideals,
    reference_rows,
    stand_ins,
    trial_rows,
)
from pyscale.report.plots.plot import (
    BY_BOOTSTRAP,
    OF_MEDIANS,
    Beside,
    Plot,
    Row,
    Value,
    bars,
    each,
    known_ends,
    said,
    told_by,
)
from pyscale.report.results import Results
from pyscale.wording import listing

WHICH = {"curve": "Stage", "workers": "Workers N"}
RANGES = f"Thin bars: shortest to longest of fewer than {repeats_needed()} trials."
CROSS = (
    "Cross: invalid, with no bar: its output is not the baseline's, or its workers never all ran "
    "at once."
)


def speedup(results: Results) -> Plot:
    """Speedup over the baseline, with fitted laws, and what others measured of the same stages."""
    shown = _Curves.of(results)
    references = reference_rows(shown.found, results.references)
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
    titles = listing(each(references, "title"))
    return shown.plot(
        id="speedup",
        title="Speedup over workers",
        value=Value(
            "speedup",
            scalingkind.speedup_title(shown.found),
            scale="log2",
            prints_from_0=True,
            relative="efficiency",
            relative_title="Efficiency: speedup over the ideal",
        ),
        seen={"speed": "Speedup", "efficient": "Efficiency", "wall": "Wall time"}
        | {"base": "Baseline"},
        first="Coloured points: ratios of median wall times. Dashed: ideal.",
        bars_are=BY_BOOTSTRAP,
        sentences=[
            shown.told_of_laws("speedup"),
            titles and f"Hollow and grey: {titles}, on other machines, up to the largest N here.",
            scalingkind.legend(shown.found),
        ],
        beside=[
            shown.ideal(*reference_ideals(shown.found, references)),
            shown.laws("speedup"),
            Beside("elsewhere", "references", references, elsewhere),
        ],
        told="speed",
        absent="speedups: no trial of it was timed, so measure it again",
    )


def walltime(results: Results) -> Plot:
    """Wall time of every configuration and of every trial, with fitted laws."""
    shown = _Curves.of(results)
    seen = {**WHICH, "repeat": "Repeat", "wall": "Wall time", "state": "Page cache"}
    return shown.plot(
        id="walltime",
        title="Wall time over workers",
        value=Value(
            "wall_s",
            "Wall time (s)",
            prints_from_0=True,
            relative="wall_share",
            relative_title="Wall time over the baseline",
        ),
        seen={"wall": "Wall time", "speed": "Speedup", "worker_s": "Worker-seconds"},
        first="Coloured points: medians; grey: single trials. Dashed: ideal scaling of the "
        "baseline.",
        bars_are=OF_MEDIANS,
        sentences=[shown.told_of_laws("wall_s")],
        beside=[
            shown.ideal(),
            shown.laws("wall_s"),
            Beside("single", "trials", trial_rows(shown.found, results.trials), seen),
        ],
        told="wall",
        absent="wall times: no trial of it was timed, so measure it again",
        is_together=False,
        is_aside=False,
        has_own_scales=True,
    )


def throughput(results: Results) -> Plot:
    """Work per second, of the stages whose work is known."""
    shown = _Curves.of(results)
    return shown.plot(
        id="throughput",
        title="Throughput over workers",
        value=Value(
            "rate",
            "Frames or units of work per second",
            relative="each",
            relative_title="Per second and worker",
        ),
        seen={"rated": "Throughput", "work": "Work", "wall": "Wall time"},
        first="Coloured points: of median wall times. Dashed: ideal.",
        bars_are=bars(),
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
            "memory_gib",
            title,
            scale="linear",
            relative="memory_share" if asked else "memory_gib",
            relative_title="Peak memory over what was asked for"
            if asked
            else f"{title}; none was asked for",
        ),
        seen={"memory": "Peak of any task", "asked": "Asked for", "enough": "Enough"},
        first="The highest of all trials.",
        sentences=[bool(asked) and "Short line: what was asked for."],
        beside=[Beside("asked", "asked", asked)],
        told="memory",
        absent="memory: it needs the peak of each task, in a table of wall times the column "
        "`peak_memory_bytes`",
    )


def cost(results: Results) -> Plot:
    """What a trial costs: money where there are prices, else core-hours."""
    shown = _Curves.of(results)
    currency = next((row["price"].split()[-1] for row in shown.rows if row["money"]), None)
    column, unit = ("money", f"Cost ({currency})") if currency else ("core_hours", "Core-hours")
    has_work = any(row[f"{column}_each"] for row in shown.rows)
    return shown.plot(
        id="cost",
        title="Cost over workers",
        value=Value(
            column,
            unit,
            scale="linear",
            relative=f"{column}_each" if has_work else column,
            relative_title=f"{unit} per frame or unit of work"
            if has_work
            else f"{unit}; the work is not known",
        ),
        seen={"cores": "Core-hours", "gpus": "GPU-hours", "price": "Price", "wall": "Wall time"},
        first="Mean over the timed trials; perfect scaling would cost the same at every N.",
        told="price" if currency else "cores",
        absent="the cost: it needs the cores of each trial, in a table of wall times the column "
        "`cpus`",
    )


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

    def ideal(self, *others: Row) -> Beside:
        return Beside("ideal", "ideal", [*ideal_rows(self.found), *others])

    def laws(self, column: str) -> Beside:
        """Fitted laws, where they tell this column."""
        rows = law_rows(self.found, self.results.fits)
        told = rows if any(column in row for row in rows) else []
        return Beside("law", "laws", told, {"curve": "Stage", "law": "Law", "sure": "Band"})

    def told_of_laws(self, column: str) -> str:
        names = listing(each(self.laws(column).rows, "law"))
        return names and f"Dotted, in its 95 % band: {names}, fitted to all trials."

    def plot(
        self,
        *,
        value: Value,
        seen: dict[str, str],
        first: str,
        told: str,
        bars_are: str = "",
        sentences: list[str | bool | None] | None = None,
        **how: Any,
    ) -> Plot:
        """Draw a value of every configuration; `first` and `bars_are` say what the marks are."""
        drawn = [row for row in self.rows if row[value.column]]
        has_crosses = any(row["invalid"] for row in drawn)
        known = known_ends(drawn, value.column, "_low", "_min")
        shared: dict[str, Any] = {
            "dataset": "configurations",
            "rows": self.rows if drawn else [],
            "series": "curve",
            "known": [curve.name for curve in self.found],
            "is_joined": True,
            "is_together": True,
            "is_aside": True,
            "headings": headings(self.found, self.results.context),
            "printed": stand_ins(self.found, self.results.context),
            "crossed": "invalid" if has_crosses else None,
        }
        return Plot(
            value=value,
            seen=WHICH | seen | {"timed": "Timed trials", "doubts": "Doubts"},
            sentences=said(
                first,
                "_low" in known and bars_are,
                "_min" in known and RANGES,
                *(sentences or ()),
                has_crosses and CROSS,
            ),
            told=told_by(drawn, "curve", lambda row: f"{row[told]} at N = {row['workers']}"),
            **shared | how,
        )
