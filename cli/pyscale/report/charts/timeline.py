"""What every worker did when, one trial at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from pyscale.analysis.losses import middle_trials
from pyscale.report.charts.chart import Chart
from pyscale.report.charts.look import AUTOSIZE, colour, config, dashes
from pyscale.report.charts.points import legend_of, tooltips
from pyscale.report.curves import Curve
from pyscale.report.palette import PARTS
from pyscale.report.wording import coarse, number, phase

TIMELINE = "timeline"
Row = dict[str, Any]
NAMES = [phase(part) for part in PARTS]
LANE_PX = 24
NOTE = (
    "One lane a worker. Idle: it had ended and waited for the slowest one (dashed line), or for "
    "the merge, which stands on the lane of the worker that ended last. Empty: the scheduler's "
    "time, which is no part of the wall time. Short pieces of one phase are drawn together."
)
MIDDLE_ONLY = "There are too many trials to show each: one stands for every configuration."


def timeline(found: Sequence[Curve], table: pl.DataFrame, trials: pl.DataFrame) -> Chart | None:
    """One trial, chosen by the reader; None where there is none to show.

    It opens with the middle trial of the configuration that loses most worker-seconds to idle
    time.

    Parameters
    ----------
    found : sequence of Curve
    table : polars.DataFrame
        As `pyscale.analysis.timeline.timeline_of` gives it; it may hold fewer trials.
    trials : polars.DataFrame
    """
    middle = _middle(found, trials)
    first = max(middle, key=lambda row: row["idle_s"] or 0.0)["trial"]
    rows = timeline_rows(found, table.filter(pl.col("trial") == first), trials)
    if not rows:
        return None
    (shown,) = rows
    is_whole = trials.filter("valid")["trial"].is_in(table["trial"].unique().to_list()).all()
    note = NOTE if is_whole else f"{NOTE} {MIDDLE_ONLY}"
    seen = set(table["part"])
    parts = [part for part in PARTS if part in seen]
    legend = legend_of(list(map(phase, parts)), [colour(f"part-{part}") for part in parts])
    return Chart(
        id="timeline",
        title="What every worker did when",
        description=f"{note} {shown['curve']} at N = {shown['workers']}, "
        f"{shown['choice'][0].lower()}{shown['choice'][1:]}. {shown['summary']}",
        spec=_spec(first, lanes=shown["workers"])
        | {"usermeta": {"note": note, "panels": [], "legend": legend}},
    )


def _spec(first: str, *, lanes: int) -> dict[str, Any]:
    import altair as alt

    trial = alt.Chart(alt.NamedData(name=TIMELINE)).transform_filter("datum.trial == trial")
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
    seen = {
        "worker": "Worker",
        "node": "Node",
        "what": "Task",
        "part": "Phase",
        "from": "From",
        "long": "Took",
    }
    bars = pieces.mark_bar(clip=True).encode(
        x=x, x2="end_s:Q", y=worker, color=_tint(), tooltip=tooltips(seen)
    )
    slowest = (
        trial.transform_filter("datum.workers > 1")
        .mark_rule(color=colour("ideal"), **dashes())
        .encode(x="last_s:Q")
    )
    params = [alt.param(name="trial", value=first), alt.param(name="names", value=NAMES)]
    chart = alt.layer(bars, slowest).properties(width="container", height=LANE_PX * lanes)
    spec: dict[str, Any] = chart.add_params(*params).to_dict(validate=False)
    return spec | {"autosize": AUTOSIZE, "config": config()}


def timeline_rows(found: Sequence[Curve], table: pl.DataFrame, trials: pl.DataFrame) -> list[Row]:
    """One row a timed trial; its pieces are lists, so that thousands of them stay small."""
    pieces = {key: own for (key,), own in table.group_by("trial", maintain_order=True)}
    middle = {row["trial"] for row in _middle(found, trials)}
    return [
        _trial(curve, row, pieces[row["trial"]], middle=row["trial"] in middle)
        for curve in found
        for row in curve.select(trials).filter("valid").sort("workers", "block").to_dicts()
        if row["trial"] in pieces
    ]


def _middle(found: Sequence[Curve], trials: pl.DataFrame) -> list[Row]:
    """The trial of each configuration whose wall time is the median, or next below it."""
    return [
        middle_trials(own).row(0, named=True)
        for curve in found
        for _, own in curve.select(trials).filter("valid").group_by("workers", maintain_order=True)
    ]


def _trial(curve: Curve, row: Row, pieces: pl.DataFrame, *, middle: bool) -> Row:
    end_s = pl.col("start_s") + pl.col("wall_s")
    windows = pieces.filter(pl.col("verb") == "run").sort(end_s)
    # A lane may have had tasks of several nodes: it stands with the first.
    lanes = (
        windows.sort("start_s")
        .group_by("lane", maintain_order=True)
        .agg(pl.col("node").first(), nodes=pl.col("node").unique(maintain_order=True))
        .sort("node", "lane")
        .with_row_index("place")
    )
    several = lanes["node"].n_unique() > 1
    own = pieces.join(lanes.select("lane", "place"), on="lane").sort("place", "start_s")
    return {
        "trial": row["trial"],
        "curve": curve.name,
        "workers": row["workers"],
        "choice": f"Repeat {row['block']}: {number(row['wall_s'])} s"
        + (", the middle one" if middle else ""),
        "middle": middle,
        "summary": _summary(own, last=windows["lane"][-1], workers=row["workers"]),
        "last_s": windows.select(end_s.max()).item(),
        "lanes": [
            f"{one['node']} \u00b7 {one['lane']}" if several else f"worker {one['lane']}"
            for one in lanes.iter_rows(named=True)
        ],
        "nodes": [", ".join(node or "not known" for node in nodes) for nodes in lanes["nodes"]],
        "lane": own["place"].to_list(),
        "part": [list(PARTS).index(part) for part in own["part"]],
        "task": own["task"].to_list(),
        "start_s": own["start_s"].round(4).to_list(),
        "wall_s": own["wall_s"].round(4).to_list(),
    }


def _summary(pieces: pl.DataFrame, *, last: int, workers: int) -> str:
    """Say who waited for whom, and how long."""
    if workers == 1:
        return "One worker: there is no other to wait for."
    idle = pieces.filter(pl.col("part") == "idle")
    merge_s = float(pieces.filter(pl.col("verb") == "merge")["wall_s"].sum())
    waited_s = float(idle.filter(pl.col("task") != "merge")["wall_s"].sum())
    said = f"Worker {last} ended last; the others waited {coarse(waited_s)} worker-seconds for it"
    return f"{said}, and then {coarse(merge_s)} s for the merge." if merge_s else f"{said}."


def _tint() -> Any:
    """A colour a part, the same in every chart."""
    import altair as alt

    scale = alt.Scale(domain=NAMES, range=[colour(f"part-{part}") for part in PARTS])
    return alt.Color("part:N", scale=scale, legend=None)
