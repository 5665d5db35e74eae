"""Plots of what runs of stages tell beside times over N: losses, reading, and what they measure."""

from __future__ import annotations

import polars as pl

from pyscale.report.curves import curves, timed_curves
from pyscale.report.dictionary import DRAWN_STATES as STATES
from pyscale.report.palette import PARTS
from pyscale.report.plots.curverows import headings, stand_ins
from pyscale.report.plots.plot import (
    Amount,
    Plot,
    Row,
    Stack,
    Value,
    bars,
    each,
    ends_of,
    said,
    told_by,
)
from pyscale.report.quality import with_unit
from pyscale.report.results import Results
from pyscale.wording import (
    coarse,
    growth,
    interval,
    listing,
    number,
    percent,
    phase,
    ratio,
    seconds,
)


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
            is_crossed
            and "Cross: invalid, its output is not the baseline's, or its workers never all ran at "
            "once.",
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


def cache(results: Results, *others: Results) -> Plot:
    """How long the workers of every timed trial read, by the state of the page cache.

    Of the curves of `results`; `others` are more runs of the same stages, such as a warm one
    beside a cold one.
    """
    about = results.about_workers()
    found = timed_curves(about.configurations)
    rows = [
        {
            "curve": curve.name,
            "place": "not known" if row["position"] is None else str(row["position"] + 1),
            "workers": row["workers"],
            "repeat": row["block"],
            "state": STATES[row["cache_state"]],
            "asked": row["cache_asked"] or "nothing",
            "read_s": row["phase_read_s"],
            "read_share": row["phase_read_s"] / row["busy_s"],
            "read": f"{coarse(row['phase_read_s'])} worker-seconds",
            "wall": f"{number(row['wall_s'])} s",
        }
        for curve in found
        for table in (about.trials, *(one.about_workers().trials for one in others))
        for row in curve.select(table).filter("valid", pl.col("phase_read_s") > 0).to_dicts()
        if row["cache_state"] in STATES
    ]
    seen = each(rows, "state")
    states = [name for name in STATES.values() if name in seen]
    aside = " (side by side at each N)" if len(states) > 1 else ""
    return Plot(
        id="cache",
        title="Reading, by the state of the page cache",
        dataset="reading",
        rows=rows,
        value=Value(
            "read_s",
            "Reading (worker-seconds)",
            relative="read_share",
            relative_title="Reading, share of the work",
        ),
        series="state",
        known=list(STATES.values()),
        seen={
            "curve": "Stage",
            "place": "Place in the run",
            "workers": "Workers N",
            "repeat": "Repeat",
            "state": "Page cache was",
            "asked": "Asked to be",
            "read": "Reading",
            "wall": "Wall time",
        },
        sentences=[
            "Marks: what the workers of one trial took to read, together. The page cache before "
            f"it: {'; '.join(states)}{aside}.",
            "Reading includes opening and decoding. The caches of servers, of disks and of "
            "hypervisors cannot be seen.",
        ],
        told=f"States seen: {listing(states)}.",
        absent="the page cache: it needs trials of a run of pyscale whose reading was recorded",
        is_aside=True,
        has_own_scales=True,
        headings={name: lines[:1] for name, lines in headings(found, results.context).items()},
        printed=stand_ins(found, results.context),
    )


def measures(results: Results) -> Plot:
    """Every number over N, a panel each."""
    measured = [] if results.measured is None else results.measured.to_dicts()
    rows = [
        {
            "curve": f"{row['stage']}: {with_unit(row['name'], row['unit'])}",
            **{name: row[name] for name in ("stage", "workers", "repeats")},
            **ends_of("value", row),
            "told": interval(row, "value", number),
            "over": ratio(row["over_baseline"]),
            "better": row["better"] or "neither",
        }
        for row in measured
    ]
    return Plot(
        id="measures",
        title="Numbers that stages measure, over workers",
        dataset="measures",
        rows=rows,
        value=Value("value", "Value, in the panel's unit", scale="linear"),
        series="stage",
        seen={
            "curve": "Measured",
            "workers": "Workers N",
            "told": "Median",
            "over": "Over N0's",
            "better": "Better",
            "repeats": "Timed trials",
        },
        sentences=["Points: medians over trials.", bars(" by order statistics")],
        printed=results.context.timed,
        told=told_by(rows, "curve", lambda row: f"{row['told']} at N = {row['workers']}"),
        absent="numbers that stages measure: it needs a run of a stage that measures any",
        is_joined=True,
        has_own_scales=True,
    )
