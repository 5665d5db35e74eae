"""Stacked bars of where the worker-seconds went."""

from __future__ import annotations

from pyscale.report.curves import curves
from pyscale.report.palette import PARTS
from pyscale.report.plots.curverows import headings, stand_ins
from pyscale.report.plots.plot import Amount, Row, Stack, said
from pyscale.report.results import Results
from pyscale.report.wording import growth, percent, phase, seconds


def losses(results: Results) -> Stack:
    """Worker-seconds by part and number of workers, a panel a curve."""
    results = results.about_workers()
    rows = _rows(results)
    drawn = {row["curve"] for row in rows}
    found = [curve for curve in curves(results.configurations) if curve.name in drawn]
    is_crossed = any(row["invalid"] for row in rows)
    return Stack(
        id="losses",
        title="Where the worker-seconds went",
        dataset="losses",
        rows=rows,
        headings=headings(found, results.context),
        absolute=Amount("worker_s", "Worker-seconds", "needed_s"),
        relative=Amount("share", "Where the time went (share)", "needed_share"),
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
        sentences=said(
            "Each bar is N times the wall time of the trial of median wall time, by what the "
            "workers did, stacked from the axis in the order of the legend; idle: waiting for the "
            "slowest worker and for the merge.",
            "Line across: the worker-seconds that the baseline took for as much work; what is "
            "above is lost.",
            is_crossed and "Cross: invalid, its output is not the baseline's: it did other work.",
        ),
        printed=stand_ins(found, results.context),
        absent="where the time went: it needs the time of each task, in a table of wall times the "
        "column `task` or `mean_task_s`",
        crossed="invalid" if is_crossed else None,
    )


def _rows(results: Results) -> list[Row]:
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
