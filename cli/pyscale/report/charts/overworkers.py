"""Charts of stages over N, from the tables of configurations, trials, losses and measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.laws import Fit
from pyscale.report import scalingkind
from pyscale.report.charts.chart import Chart, chosen, cross, telling
from pyscale.report.charts.marks import ASIDE_PX, Marks, bars
from pyscale.report.curves import Curve, curves, timed_curves
from pyscale.report.drawnrows import Row, configuration_rows, loss_rows, trial_rows
from pyscale.report.palette import PARTS, colour
from pyscale.report.quality import with_unit
from pyscale.report.results import Results
from pyscale.wording import phase

CONFIGURATIONS = "configurations"
SEEN = ("curve", "workers", "wall_s", "speedup", "efficiency", "repeats", "flags")
TOLD_OF_TRIALS = ("curve", "workers", "block", "wall_s", "cache_state")
FEW = f"none where fewer than {repeats_needed()} trials were timed"
BARS = f"Bars: 95 % intervals; {FEW}."
DASHED = "Dashed: ideal."
CROSS = "Cross: invalid, its output is not the baseline's or its workers never all ran at once."
WIDEST_BAND = 4.0
"""Upper over lower end of the band of a law that is drawn."""


def over_workers(results: Results) -> Iterator[Chart | None]:
    """Draw every chart over N."""
    about = results.about_workers()
    found = timed_curves(about.configurations)
    if found:
        yield from (speedup(found, about), walltime(found, about), losses(found, about))
        yield from (throughput(found), memory(found), cost(found))
    yield measures(results)


def _over(found: Sequence[Curve], **how: Any) -> Marks:
    """Marks of a column of the configurations."""
    shared: dict[str, Any] = {
        "table": CONFIGURATIONS,
        "dataset": CONFIGURATIONS,
        "rows": configuration_rows(found),
        "known": [curve.name for curve in found],
        "seen": SEEN,
        **dict.fromkeys(("is_joined", "is_together", "is_aside"), True),
    }
    return Marks(**shared | how)


def speedup(found: Sequence[Curve], results: Results) -> Chart | None:
    """Speedup over the baseline, with fitted laws, and what others measured of the same stages."""
    laws, others = law_rows(found, results), elsewhere(found, results)
    legend = scalingkind.legend(found)
    marks = _over(
        found,
        id="speedup",
        title="Speedup over workers",
        note=_note(found, BARS, laws and "Dotted: a fitted law in its 95 % band.", legend),
        axis=(scalingkind.speedup_title(found), "Efficiency: speedup over the ideal"),
        value="speedup",
        relative="efficiency",
        scale="log2",
        elsewhere=others,
    )
    ideal = marks.level(chosen("datum.workers / datum.baseline_workers", "1"))
    return marks.chart([ideal, *(marks.law("laws") if laws else ())], laws=laws)


def walltime(found: Sequence[Curve], results: Results) -> Chart | None:
    """Wall time of every configuration and of every trial."""
    trials = trial_rows(found, results.trials)
    marks = _over(
        found,
        id="walltime",
        title="Wall time over workers",
        note=_note(found, BARS, "Grey: single trials."),
        axis=("Wall time (s)",) * 2,
        value="wall_s",
        seen=(*SEEN, "worker_seconds"),
        is_together=False,
        is_aside=False,
    )
    dots, told = telling(marks.on("trials"), "trials", trials, TOLD_OF_TRIALS)
    small: dict[str, Any] = {"size": 22, "opacity": 0.7, "xOffset": -ASIDE_PX}
    single = dots.mark_circle(color=colour("single"), **small).encode(**marks.at(), tooltip=told)
    ideal = marks.level("datum.efficiency * datum.wall_s")
    return marks.chart([ideal, single], trials=trials)


def throughput(found: Sequence[Curve]) -> Chart | None:
    """Work per second, of the stages whose work is known."""
    marks = _over(
        found,
        id="throughput",
        title="Throughput over workers",
        note=_note(found, "Work over the median wall time."),
        axis=("Frames or units of work per second", "Per second and worker"),
        value="rate",
        relative="each",
        dataset="throughput",
        rows=[
            row | {"rate": rate, "each": rate / row["workers"]}
            for row in configuration_rows(found)
            if row["work"]
            for rate in (row["work"] / row["wall_s"],)
        ],
        seen=(*SEEN, "work"),
    )
    ideal = "datum.rate / datum.efficiency"
    return marks.chart([marks.level(chosen(ideal, f"{ideal} / datum.workers"))])


def memory(found: Sequence[Curve]) -> Chart | None:
    """Peak memory of a task, and what was asked for."""
    marks = _over(
        found,
        id="memory",
        title="Memory of a task over workers",
        note="The highest of all trials. Short line: what was asked for.",
        axis=("Peak memory of a task (GiB)", "Peak memory over what was asked for"),
        value="memory_gib",
        relative="memory_used_share",
        scale="linear",
        dataset="memory",
        rows=[
            row | {"memory_gib": row["peak_rss_bytes"] / 2**30}
            for row in configuration_rows(found)
            if row["peak_rss_bytes"]
        ],
        seen=("curve", "workers", "peak_rss_bytes", "requested_memory_bytes", "repeats", "flags"),
    )
    asked = marks.on("memory").transform_filter("isValid(datum.requested_memory_bytes)")
    gib = "datum.requested_memory_bytes / 1073741824"
    ticks = asked.transform_calculate("asked", chosen(gib, "1"))
    short = ticks.mark_tick(thickness=2, size=16, **marks.aside)
    return marks.chart([short.encode(**marks.at(column="asked"), color=marks.colour)])


def cost(found: Sequence[Curve]) -> Chart | None:
    """What a trial costs: money where there are prices, else core-hours."""
    rows = configuration_rows(found)
    currency = next((row["currency"] for row in rows if row["money"] is not None), None)
    column, unit = ("money", f"Cost ({currency})") if currency else ("core_hours", "Core-hours")
    return _over(
        found,
        id="cost",
        title="Cost over workers",
        note="Mean over the timed trials; perfect scaling would cost the same at every N.",
        axis=(unit, f"{unit} per frame or unit of work"),
        value=column,
        relative=f"{column}_per_work",
        scale="linear",
        seen=("curve", "workers", "core_hours", "gpu_hours", "money", "wall_s", "flags"),
    ).chart()


def measures(results: Results) -> Chart | None:
    """Every number that stages measure over N, a panel each."""
    measured = [] if results.measured is None else results.measured.to_dicts()
    named = ("stage", "workers", "repeats", "value", "value_low", "value_high", "better")
    return Marks(
        id="measures",
        title="Numbers that stages measure, over workers",
        note=f"Points: medians over trials. {BARS}",
        axis=("Value, in the panel's unit",) * 2,
        table="measures",
        rows=[
            {"curve": f"{row['stage']}: {with_unit(row['name'], row['unit'])}"}
            | {name: row[name] for name in (*named, "over_baseline")}
            for row in measured
        ],
        seen=("curve", "workers", "value", "over_baseline", "better", "repeats"),
        value="value",
        scale="linear",
        series="stage",
        is_joined=True,
    ).chart()


def losses(found: Sequence[Curve], results: Results) -> Chart | None:
    """Worker-seconds by part and number of workers, a panel a curve."""
    rows = loss_rows(curves(results.configurations), results.losses)
    own = alt.Chart(alt.NamedData(name=CONFIGURATIONS)).transform_filter("datum.curve == panel")
    needed = chosen("datum.efficiency * datum.worker_seconds", "datum.efficiency")
    level = own.transform_calculate("level", needed)
    took = own.transform_filter("datum.invalid").transform_calculate(
        "took", chosen("datum.worker_seconds", "1")
    )
    return bars(
        "losses",
        "Where the worker-seconds went",
        "Each bar is N times the wall time of the trial of median wall time, by what the workers "
        "did; idle: waiting for the slowest worker and for the merge. Line across: what the "
        "baseline took for as much work; what is above is lost. Cross: invalid.",
        rows,
        axis=("Worker-seconds", "Where the time went (share)"),
        parts={phase(name): f"part-{name}" for name in PARTS},
        table="losses",
        value="worker_seconds",
        relative="share",
        seen=("worker_seconds", "share", "growth_s"),
        above=[
            # With an edge it is seen on every part.
            *(
                level.mark_tick(thickness=px, opacity=1, color=colour(hue)).encode(
                    y=alt.Y("level:Q")
                )
                for hue, px in (("edge", 4), ("ink", 2))
            ),
            took.mark_point(**cross(yOffset=-10)).encode(y=alt.Y("took:Q")),
        ],
        configurations=configuration_rows(found),
    )


def law_rows(found: Sequence[Curve], results: Results) -> list[Row]:
    """Points along the fitted law of each curve: the universal law, or Amdahl's alone."""
    rows = []
    for curve in found:
        own = next((one for one in results.fits if curve.owns(one)), None)
        law = own and next((one for one in (own.usl, own.amdahl) if _is_narrow(one)), None)
        for at in law.line if law else ():
            ideal = at.workers / curve.timed[0]["workers"]
            row = {"curve": curve.name, "workers": at.workers}
            for end in ("", "_low", "_high"):
                value = getattr(at, f"speedup{end}")
                row |= {f"speedup{end}": value, f"efficiency{end}": value / ideal}
            rows.append(row)
    return rows


def _is_narrow(law: Fit) -> bool:
    """Whether a law is known so well that its band leaves room for the points."""
    ends = [(one.speedup_low, one.speedup_high) for one in law.line]
    return bool(ends) and all(high <= WIDEST_BAND * low for low, high in ends)


def elsewhere(found: Sequence[Curve], results: Results) -> list[Row]:
    """What others measured, beside the first curve of the same stage.

    At larger N than was measured here it would leave no room for what was.
    """
    most = max(row["workers"] for curve in found for row in curve.timed)
    names = {curve.key["stage"]: curve.name for curve in reversed(found)}
    return [
        row
        | {"curve": names[curve.key["stage"]], "title": reference.title}
        | {"source": reference.source}
        for reference, table in results.references
        for curve in timed_curves(table)
        if curve.key["stage"] in names
        for row in configuration_rows([curve])
        if row["workers"] <= most
    ]


def _note(found: Sequence[Curve], *sentences: str | list[Row] | None) -> str:
    has_crosses = any(row["invalid"] for curve in found for row in curve.timed)
    return " ".join(map(str, filter(None, (DASHED, *sentences, has_crosses and CROSS))))
