"""Speedup, wall time, throughput, memory and cost over the number of workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyscale.report import scalingkind
from pyscale.report.charts.chart import Chart
from pyscale.report.charts.look import colour
from pyscale.report.charts.points import (
    ASIDE_PX,
    BARS,
    CONFIGURATIONS,
    CROSSES,
    RANGES,
    REFERENCES,
    TRIALS,
    Points,
    Shown,
    tooltips,
)
from pyscale.report.curves import Curve
from pyscale.report.wording import listing

Row = dict[str, Any]
WHICH = {"curve": "Stage", "workers": "Workers N"}
LAW_BANDS = "Dotted: the fitted law, in its 95 % band."
SURE = {"timed": "Timed trials", "doubts": "Doubts"}


def speedup(
    found: Sequence[Curve], rows: Sequence[Row], references: Sequence[Row], laws: Sequence[Row]
) -> Chart:
    """Speedup over the baseline with fitted laws, and what others measured of the same stages."""
    points = Points(
        Shown(
            "speedup",
            "efficiency",
            scalingkind.speedup_title(found),
            "Efficiency: speedup over the ideal",
            base=2,
        ),
        [curve.name for curve in found],
        sorted({row["workers"] for row in (*rows, *references)}),
        {
            **WHICH,
            "speed": "Speedup",
            "efficient": "Efficiency",
            "wall": "Wall time",
            "base": "Baseline",
            **SURE,
        },
    )
    layers = [points.ideal(), *(points.laws() if laws else [])]
    if references:
        layers += [points.ideal(REFERENCES), *_elsewhere(points)]
    layers += points.configurations(invalid=_any_invalid(rows))
    others = list(dict.fromkeys(row["title"] for row in references))
    note = _note(
        rows,
        "Dashed: ideal.",
        laws and LAW_BANDS,
        references
        and f"Hollow and grey: {listing(others)}, on other machines, up to the largest N here.",
        scalingkind.legend(found),
    )
    return Chart(
        id="speedup",
        title="Speedup over workers",
        description=f"{note} {_told(found, 'speed', rows)}",
        spec=points.spec(layers, note, others),
    )


def _elsewhere(points: Points) -> list[Any]:
    """Hollow grey marks, in the shape of the stage that they stand beside."""
    seen = {
        "title": "Measured elsewhere",
        "stage": "Its stage",
        "curve": "Stands beside",
        "workers": "Workers N",
        "speed": "Speedup",
        "wall": "Wall time there",
        "hardware": "Hardware",
        "source": "Source",
    }
    place = {"xOffset": points.aside}
    rows = points.rows(REFERENCES, "_low", "_high").transform_filter("isValid(datum.shown)")
    grey = colour("reference")
    return [
        rows.transform_filter("isValid(datum.shown_low)")
        .mark_rule(strokeWidth=1.2, color=grey, **place)
        .encode(x=points.x, y=points.y("shown_low"), y2="shown_high:Q"),
        rows.mark_point(filled=False, size=60, strokeWidth=1.3, color=grey, **place).encode(
            x=points.x, y=points.y(), shape=points.shape, tooltip=tooltips(seen)
        ),
    ]


def walltime(found: Sequence[Curve], rows: Sequence[Row], laws: Sequence[Row]) -> Chart:
    """Wall time of every configuration and of every trial, a panel for each curve."""
    points = Points(
        Shown("wall_s", "wall_share", "Wall time (s)", "Wall time over the baseline"),
        [curve.name for curve in found],
        sorted({row["workers"] for row in rows}),
        {**WHICH, "wall": "Wall time", "speed": "Speedup", "worker_s": "Worker-seconds", **SURE},
        panels=[curve.name for curve in found],
    )
    seen = {**WHICH, "repeat": "Repeat", "wall": "Wall time", "state": "Page cache"}
    trials = (
        points.rows(TRIALS)
        .mark_circle(size=22, opacity=0.7, color=colour("single"), xOffset=-ASIDE_PX)
        .encode(x=points.x, y=points.y(), tooltip=tooltips(seen))
    )
    note = _note(
        rows, "Grey, set to the left: single trials. Dashed: ideal scaling.", laws and LAW_BANDS
    )
    return Chart(
        id="walltime",
        title="Wall time over workers",
        description=f"{note} {_told(found, 'wall', rows)}",
        spec=points.spec(
            [
                points.ideal(),
                *(points.laws() if laws else []),
                trials,
                *points.configurations(invalid=_any_invalid(rows)),
            ],
            note,
        ),
    )


def throughput(found: Sequence[Curve], rows: Sequence[Row]) -> Chart | None:
    """Work per second; None where no work is known."""
    if all(row["rate"] is None for row in rows):
        return None
    points = Points(
        Shown("rate", "each", "Frames or units of work per second", "Per second and worker"),
        [curve.name for curve in found],
        sorted({row["workers"] for row in rows}),
        {**WHICH, "rated": "Throughput", "work": "Work", "wall": "Wall time", **SURE},
    )
    note = _note(rows, "Dashed: ideal.")
    return Chart(
        id="throughput",
        title="Throughput over workers",
        description=f"{note} {_told(found, 'rated', rows)}",
        spec=points.spec(
            [points.ideal(coloured=True), *points.configurations(invalid=_any_invalid(rows))], note
        ),
    )


def memory(found: Sequence[Curve], rows: Sequence[Row]) -> Chart | None:
    """Peak memory of a task, and what was asked for; None where it is not known."""
    if all(row["memory_gib"] is None for row in rows):
        return None
    asked = any(row["asked_gib"] for row in rows)
    points = Points(
        Shown(
            "memory_gib",
            "memory_share" if asked else "memory_gib",
            "Peak memory of a task (GiB)",
            "Peak memory over what was asked for"
            if asked
            else "Peak memory of a task (GiB); none was asked for",
            base=None,
        ),
        [curve.name for curve in found],
        sorted({row["workers"] for row in rows}),
        {**WHICH, "memory": "Peak of any task", "asked": "Asked for", "enough": "Enough", **SURE},
    )
    requests = (
        points.rows(CONFIGURATIONS)
        .transform_calculate(
            "asked_y", "amount == 'relative' ? datum.asked_share : datum.asked_gib"
        )
        .transform_filter("isValid(datum.asked_y)")
        .mark_tick(thickness=2, size=16, xOffset=points.aside)
        .encode(x=points.x, y=points.y("asked_y"), color=points.colour)
    )
    note = _note(
        rows, "The highest of all trials.", asked and "Short line: what was asked for.", bars=False
    )
    layers = [
        *([requests] if asked else []),
        *points.configurations(invalid=_any_invalid(rows)),
    ]
    return Chart(
        id="memory",
        title="Memory of a task over workers",
        description=f"{note} {_told(found, 'memory', rows)}",
        spec=points.spec(layers, note),
    )


def cost(found: Sequence[Curve], rows: Sequence[Row]) -> Chart | None:
    """What a trial costs: money where there are prices, else core-hours; None without either."""
    known = [name for name in ("money", "core_hours") if any(row[name] for row in rows)]
    if not known:
        return None
    column = known[0]
    currency = next((row["price"].split()[-1] for row in rows if row["money"]), "")
    unit = f"Cost ({currency})" if column == "money" else "Core-hours"
    each = any(row[f"{column}_each"] for row in rows)
    points = Points(
        Shown(
            column,
            f"{column}_each" if each else column,
            unit,
            f"{unit} per frame or unit of work" if each else f"{unit}; the work is not known",
            base=None,
        ),
        [curve.name for curve in found],
        sorted({row["workers"] for row in rows}),
        {
            **WHICH,
            "cores": "Core-hours",
            "gpus": "GPU-hours",
            "price": "Price",
            "wall": "Wall time",
            **SURE,
        },
    )
    note = _note(
        rows,
        "Mean over the timed trials; perfect scaling would cost the same at every N.",
        bars=False,
    )
    return Chart(
        id="cost",
        title="Cost over workers",
        description=f"{note} {_told(found, 'price' if column == 'money' else 'cores', rows)}",
        spec=points.spec(points.configurations(invalid=_any_invalid(rows)), note),
    )


def _any_invalid(rows: Sequence[Row]) -> bool:
    return any(row["invalid"] for row in rows)


def _note(rows: Sequence[Row], first: str, *others: Any, bars: bool = True) -> str:
    """How to read a chart of points."""
    crosses = CROSSES if _any_invalid(rows) else None
    timed = {_is_interval(row) for row in rows}
    ends = (bars and True in timed and BARS, bars and False in timed and RANGES)
    return " ".join(part for part in (first, *ends, *others, crosses) if part)


def _is_interval(row: Row) -> bool | None:
    """Whether a bar is an interval, else a range; None without a bar."""
    if row["wall_s_low"] is not None:
        return True
    return None if row["wall_s_min"] is None else False


def _told(found: Sequence[Curve], column: str, rows: Sequence[Row]) -> str:
    """State what the chart shows of every configuration."""
    told = []
    for curve in found:
        own = [row for row in rows if row["curve"] == curve.name]
        values = listing(f"{row[column]} at N = {row['workers']}" for row in own)
        told.append(f"{curve.name}: {values}.")
    return " ".join(told)
