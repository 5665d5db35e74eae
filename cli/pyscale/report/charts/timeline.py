"""What every worker did when on the page, one trial at a time."""

from __future__ import annotations

from typing import Any

import altair as alt

from pyscale.report.charts.chart import (
    AUTOSIZE,
    Chart,
    config,
    dashes,
    layered,
    legend_of,
    tooltips,
)
from pyscale.report.palette import PARTS, colour
from pyscale.report.plots.timeline import NAMES, NOTE, middle_rows, timeline_rows
from pyscale.report.results import Results

LANE_PX = 24
DASHED = "Dashed: when the slowest worker ended."
MIDDLE_ONLY = "There are too many trials to show each: one stands for every configuration."


def timeline(results: Results) -> Chart | None:
    """One trial, chosen by the reader; None where there is none to show.

    It opens with the middle trial of the configuration that loses most worker-seconds to idle
    time.
    """
    middle, laid = middle_rows(results), results.timeline
    if laid is None or not middle:
        return None
    first = max(middle, key=lambda row: row["idle_s"] or 0.0)["trial"]
    (shown,) = timeline_rows(results, [first])
    timed = results.trials.filter("valid")["trial"]
    is_whole = timed.is_in(laid["trial"].unique().to_list()).all()
    note = " ".join([NOTE, DASHED, *([] if is_whole else [MIDDLE_ONLY])])
    seen = set(laid["part"])
    parts = {name: part for name, part in zip(NAMES, PARTS, strict=True) if part in seen}
    legend = legend_of(list(parts), [colour(f"part-{part}") for part in parts.values()])
    return Chart(
        id="timeline",
        title="What every worker did when",
        description=f"{note} {shown['curve']} at N = {shown['workers']}, "
        f"{shown['choice'][0].lower()}{shown['choice'][1:]}. {shown['summary']}",
        spec=_spec(first, lanes=shown["workers"])
        | {"usermeta": {"note": note, "panels": [], "legend": legend}},
    )


def _spec(first: str, *, lanes: int) -> dict[str, Any]:
    trial = alt.Chart(alt.NamedData(name="timeline")).transform_filter("datum.trial == trial")
    pieces = (
        trial.transform_flatten(["lane", "part", "task", "start_s", "wall_s"])
        .transform_calculate("end_s", "datum.start_s + datum.wall_s")
        .transform_calculate("worker", "datum.lanes[datum.lane]")
        .transform_calculate("part", "names[datum.part]")
        .transform_calculate("node", "datum.nodes[datum.lane]")
        .transform_calculate("what", "(datum.part == 'idle' ? 'waiting for ' : '') + datum.task")
        .transform_calculate("from", "format(datum.start_s, '.3f') + ' s'")
        .transform_calculate("long", "format(datum.wall_s, '.3~f') + ' s'")
    )
    worker = alt.Y(
        "worker:N",
        title=None,
        sort=alt.EncodingSortField("lane", op="min"),
        axis=alt.Axis(grid=False, labelOverlap="greedy", labelLimit=160),
        scale=alt.Scale(paddingInner=0.18, paddingOuter=0.1),
    )
    x = alt.X(
        "start_s:Q",
        title="Seconds since the first worker's start",
        scale=alt.Scale(zero=True, nice=False),
        axis=alt.Axis(grid=True, tickCount=alt.expr("max(2, width / 80)")),
    )
    tints = alt.Scale(domain=NAMES, range=[colour(f"part-{part}") for part in PARTS])
    seen = {
        "worker": "Worker",
        "node": "Node",
        "what": "Task",
        "part": "Phase",
        "from": "From",
        "long": "Took",
    }
    bars = pieces.mark_bar(clip=True).encode(
        x=x,
        x2=alt.X2("end_s:Q"),
        y=worker,
        color=alt.Color("part:N", scale=tints, legend=None),
        tooltip=tooltips(seen),
    )
    slowest = (
        trial.transform_filter("datum.workers > 1")
        .mark_rule(color=colour("ideal"), **dashes())
        .encode(x=alt.X("last_s:Q"))
    )
    params = [alt.param(name="trial", value=first), alt.param(name="names", value=NAMES)]
    spec = layered((bars, slowest), LANE_PX * lanes, *params)
    return spec | {"autosize": AUTOSIZE, "config": config()}
