"""Stacked bars of where the worker-seconds went, and of what a call consists of."""

from __future__ import annotations

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.report.curves import curves
from pyscale.report.grid.sweep import Sweep, sweeps
from pyscale.report.grid.words import size
from pyscale.report.palette import CALL_PARTS, PARTS
from pyscale.report.plots.curverows import headings, stand_ins
from pyscale.report.plots.plot import Row
from pyscale.report.plots.stack import Amount, Stack
from pyscale.report.results import Results
from pyscale.report.wording import growth, percent, phase, ratio, seconds

CROSS = "Cross: invalid, its output is not the baseline's: it did other work."


def losses(results: Results) -> Stack:
    """Worker-seconds by part and number of workers, a panel a curve."""
    results = results.about_workers()
    rows = loss_rows(results)
    drawn = {row["curve"] for row in rows}
    found = [curve for curve in curves(results.configurations) if curve.name in drawn]
    is_crossed = any(row["invalid"] for row in rows)
    return Stack(
        id="losses",
        title="Where the worker-seconds went",
        dataset="losses",
        rows=rows,
        headings=headings(found, results.context),
        along="workers",
        along_title="Workers N",
        at="N = {}",
        absolute=Amount(column="worker_s", title="Worker-seconds", level="needed_s"),
        relative=Amount(column="share", title="Where the time went (share)", level="needed_share"),
        prints="absolute",
        parts={phase(name): f"part-{name}" for name in PARTS},
        seen={
            "curve": "Stage",
            "workers": "Workers N",
            "part": "Part",
            "took": "Took",
            "shared": "Share",
            "grown": "Beyond the baseline",
        },
        sentences=[
            "Each bar is N times the wall time of the trial of median wall time, by what the "
            "workers did, stacked from the axis in the order of the legend; idle: waiting for the "
            "slowest worker and for the merge.",
            "Line across: the worker-seconds that the baseline took for as much work; what is "
            "above is lost.",
            *([CROSS] if is_crossed else []),
        ],
        printed=stand_ins(found, results.context),
        absent="where the time went: it needs the time of each task, in a table of wall times the "
        "column `task` or `mean_task_s`",
        crossed="invalid" if is_crossed else None,
    )


def loss_rows(results: Results) -> list[Row]:
    """Worker-seconds of every configuration by part; parts that took nothing are left out."""
    rows = []
    for curve in curves(results.configurations):
        timed = {row["workers"]: row for row in curve.timed}
        own = curve.select(results.losses).to_dicts()
        totals = {n: sum(r["worker_seconds"] for r in own if r["workers"] == n) for n in timed}
        for row in own:
            at, total_s = timed[row["workers"]], totals[row["workers"]]
            needed_s = at["growth"] * curve.timed[0]["worker_seconds"]
            share = row["worker_seconds"] / total_s
            if row["worker_seconds"] > 0:
                rows.append(
                    {
                        "curve": curve.name,
                        "workers": row["workers"],
                        "invalid": at["invalid"],
                        "part": phase(row["part"]),
                        "order": list(PARTS).index(row["part"]),
                        "worker_s": row["worker_seconds"],
                        "share": share,
                        "needed_s": needed_s,
                        "needed_share": needed_s / total_s,
                        "took": f"{seconds(row['worker_seconds'])} worker-seconds",
                        "shared": f"{percent(share)} of all",
                        "grown": f"{growth(row['growth_s'])} worker-seconds",
                    }
                )
    return rows


def call_parts(results: Results) -> Stack:
    """Parts of a call over size, a panel a line."""
    found = sweeps(results.every(GridFindings))
    parts = (row for sweep in found for point in sweep.points for row in sweep.parts(point))
    names = list(dict.fromkeys(row["part"] for row in parts))
    return Stack(
        id="callparts",
        title="What a call consists of",
        dataset="call_parts",
        rows=_part_rows(found, names),
        panel="panel",
        along="of",
        along_title="Side of the image (px)",
        at="{} px",
        absolute=Amount(column="part_s", title="Seconds of a call"),
        relative=Amount(column="share", title="Share of a call"),
        prints="relative",
        parts={
            phase(name): f"part-{name}" if name == UNATTRIBUTED else f"call-{i % len(CALL_PARTS)}"
            for i, name in enumerate(names)
        },
        seen={
            "curve": "Stage",
            "size": "Size",
            "part": "Part",
            "took": "Took",
            "shared": "Share",
            "faster": "Times as fast",
        },
        sentences=[
            "One call, the median of each part; stacked from the axis in the order of the legend."
        ],
        printed=list(results.context.timed),
        absent="what a call consists of: it needs a run with a grid of a stage that times the "
        "parts of its calls",
    )


def _part_rows(found: list[Sweep], names: list[str]) -> list[Row]:
    """Parts of the calls of every point; those that took nothing are left out."""
    return [
        {
            "curve": sweep.name,
            "panel": line.name if len(found) == 1 else f"{sweep.name}: {line.name}",
            "of": f"{row['length_px']:.0f}",
            "part": phase(row["part"]),
            "order": names.index(row["part"]),
            "part_s": row["part_s"],
            "share": row["share"],
            "size": size(row["length_px"]),
            "took": f"{seconds(row['part_s'])} s",
            "shared": f"{percent(row['share'])} of the call",
            "faster": ratio(row["part_ratio"]),
        }
        for sweep in found
        for line in sweep.lines
        for point in line.points
        for row in sweep.parts(point)
        if row["part_s"] > 0
    ]
