"""Charts of stages over N, and of what every worker did when, from the tables of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import polars as pl

from pyscale.report import sentences
from pyscale.report.charts.chart import (
    AUTOSIZE,
    Chart,
    chosen,
    config,
    cross,
    dashes,
    layered,
    legend_of,
    telling,
)
from pyscale.report.charts.marks import ASIDE_PX, LANE_PX, Marks, bars, marks
from pyscale.report.curves import Curve, curves, timed_curves
from pyscale.report.drawnrows import Row, configuration_rows, loss_rows, trial_rows
from pyscale.report.palette import PARTS, colour
from pyscale.report.results import Results
from pyscale.wording import coarse, phase

TOLD_OF_TRIALS = ("curve", "workers", "block", "wall_s", "cache_state")
CROSS = "Cross: invalid, its output is not the baseline's or its workers never all ran at once."

NAMES = [phase(part) for part in PARTS]
NOTE = (
    "One lane a worker. Idle: it waited for the slowest one, or for the merge, which stands on the "
    "lane of the worker that ended last. Empty: the scheduler's time. Dashed: when the slowest "
    "worker ended."
)


def over_workers(results: Results) -> Iterator[Chart | None]:
    """Draw every chart over N."""
    about = results.about_workers()
    found = timed_curves(about.configurations)
    if found:
        yield from (speedup(found, about), walltime(found, about), losses(found, about))
        yield throughput(found)
    yield timeline(about)


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
