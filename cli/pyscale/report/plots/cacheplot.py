"""The plot of what reading took, by the state of the page cache."""

from __future__ import annotations

import polars as pl

from pyscale.report.curves import timed_curves
from pyscale.report.plots.curverows import headings, stand_ins
from pyscale.report.plots.plot import Plot, Value, each
from pyscale.report.results import Results
from pyscale.report.wording import coarse, listing, number

STATES = {
    "verified-cold": "cold, proved",
    "warm": "warm",
    "evicted-unverified": "evicted, not proved",
    "asis": "as it was",
    "direct": "past the page cache",
    "unsupported": "not to be controlled",
}
"""By the words of the tables."""


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
