"""What every worker did when on the page, one trial at a time."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from pyscale.report.charts.chart import AUTOSIZE, Chart, Row, config, dashes, layered, legend_of
from pyscale.report.curves import Curve, curves
from pyscale.report.palette import PARTS, colour
from pyscale.report.results import Results
from pyscale.wording import coarse, phase

LANE_PX = 24
NAMES = [phase(part) for part in PARTS]
NOTE = (
    "One lane a worker. Idle: it waited for the slowest one, or for the merge, which stands on the "
    "lane of the worker that ended last. Empty: the scheduler's time. Dashed: when the slowest "
    "worker ended."
)


def timeline(results: Results) -> Chart | None:
    """The middle trial of a configuration that the reader chooses; None where there is none.

    It opens with the configuration that loses most worker-seconds to idle time.
    """
    rows, laid = timeline_rows(results), results.timeline
    if laid is None or not rows:
        return None
    shown = max(rows, key=lambda row: row["idle_s"])
    seen = set(laid["part"])
    parts = {name: part for name, part in zip(NAMES, PARTS, strict=True) if part in seen}
    legend = legend_of(list(parts), [colour(f"part-{part}") for part in parts.values()])
    return Chart(
        id="timeline",
        title="What every worker did when",
        description=f"{NOTE} {shown['curve']} at N = {shown['workers']}. {shown['summary']}",
        spec=_spec(shown["trial"], lanes=shown["workers"])
        | {"usermeta": {"note": NOTE, "panels": [], "legend": legend}},
        data={"timeline": rows},
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
        tooltip=[alt.Tooltip(f"{name}:N", title=head) for name, head in seen.items()],
    )
    slowest = (
        trial.transform_filter("datum.workers > 1")
        .mark_rule(color=colour("ideal"), **dashes())
        .encode(x=alt.X("last_s:Q"))
    )
    params = [alt.param(name="trial", value=first), alt.param(name="names", value=NAMES)]
    spec = layered((bars, slowest), LANE_PX * lanes, *params)
    return spec | {"autosize": AUTOSIZE, "config": config()}


def timeline_rows(results: Results) -> list[Row]:
    """The trials that are laid out, by rising N; the pieces of one are lists, which stay small."""
    if results.timeline is None:
        return []
    pieces = {key: own for (key,), own in results.timeline.group_by("trial", maintain_order=True)}
    laid = results.trials.filter(pl.col("trial").is_in(list(pieces)))
    return [
        _trial(curve, row, pieces[row["trial"]])
        for curve in curves(results.configurations)
        for row in curve.select(laid).sort("workers").to_dicts()
    ]


def _trial(curve: Curve, row: Row, pieces: pl.DataFrame) -> Row:
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
        "idle_s": row["idle_s"] or 0.0,
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
    if workers == 1:
        return "One worker: there is no other to wait for."
    idle = pieces.filter(pl.col("part") == "idle")
    merge_s = float(pieces.filter(pl.col("verb") == "merge")["wall_s"].sum())
    waited_s = float(idle.filter(pl.col("task") != "merge")["wall_s"].sum())
    said = f"Worker {last} ended last; the others waited {coarse(waited_s)} worker-seconds for it"
    return f"{said}, and then {coarse(merge_s)} s for the merge." if merge_s else f"{said}."
