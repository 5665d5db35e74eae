"""Charts of stages over N, from the tables of configurations, trials, losses and measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from pyscale.report import sentences
from pyscale.report.charts.chart import Chart, chosen, cross, telling
from pyscale.report.charts.marks import ASIDE_PX, Marks, bars, marks
from pyscale.report.curves import Curve, curves, timed_curves
from pyscale.report.drawnrows import Row, configuration_rows, loss_rows, trial_rows
from pyscale.report.palette import PARTS, colour
from pyscale.report.results import Results
from pyscale.wording import phase

TOLD_OF_TRIALS = ("curve", "workers", "block", "wall_s", "cache_state")
CROSS = "Cross: invalid, its output is not the baseline's or its workers never all ran at once."


def over_workers(results: Results) -> Iterator[Chart | None]:
    """Draw every chart over N."""
    about = results.about_workers()
    found = timed_curves(about.configurations)
    if found:
        yield from (speedup(found, about), walltime(found, about), losses(found, about))
        yield throughput(found)


def _over(
    name: str, rows: list[Row], found: Sequence[Curve], *notes: str | None, **more: Any
) -> Marks:
    has_crosses = any(row["invalid"] for curve in found for row in curve.timed)
    known = [curve.name for curve in found]
    return marks(name, rows, *notes, CROSS if has_crosses else None, known=known, **more)


def speedup(found: Sequence[Curve], results: Results) -> Chart | None:
    """Speedup over the baseline, and what others measured of the same stages."""
    shown = _over(
        "speedup",
        configuration_rows(found),
        found,
        sentences.scaling_legend(found),
        axis=(sentences.speedup_title(found), "Efficiency: speedup over the ideal"),
        elsewhere=elsewhere(found, results),
    )
    ideal = shown.level(chosen("datum.workers / datum.baseline_workers", "1"))
    return shown.chart([ideal])


def walltime(found: Sequence[Curve], results: Results) -> Chart | None:
    """Wall time of every configuration and of every trial."""
    trials = trial_rows(found, results.trials)
    shown = _over("walltime", configuration_rows(found), found)
    dots, told = telling(shown.on("trials"), "trials", trials, TOLD_OF_TRIALS)
    small: dict[str, Any] = {"size": 22, "opacity": 0.7, "xOffset": -ASIDE_PX}
    single = dots.mark_circle(color=colour("single"), **small).encode(**shown.at(), tooltip=told)
    ideal = shown.level("datum.efficiency * datum.wall_s")
    return shown.chart([ideal, single], trials=trials)


def throughput(found: Sequence[Curve]) -> Chart | None:
    """Work per second, of the stages whose work is known."""
    rows = [
        row | {"rate": rate, "each": rate / row["workers"]}
        for row in configuration_rows(found)
        if row["work"]
        for rate in (row["work"] / row["wall_s"],)
    ]
    ideal = "datum.rate / datum.efficiency"
    shown = _over("throughput", rows, found)
    return shown.chart([shown.level(chosen(ideal, f"{ideal} / datum.workers"))])


def losses(found: Sequence[Curve], results: Results) -> Chart | None:
    """Worker-seconds by part and number of workers, a panel a curve."""
    own = alt.Chart(alt.NamedData(name="configurations")).transform_filter("datum.curve == panel")
    needed = chosen("datum.efficiency * datum.worker_seconds", "datum.efficiency")
    level = own.transform_calculate("level", needed)
    took = own.transform_filter("datum.invalid").transform_calculate(
        "took", chosen("datum.worker_seconds", "1")
    )
    return bars(
        "losses",
        loss_rows(curves(results.configurations), results.losses),
        {phase(name): f"part-{name}" for name in PARTS},
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
