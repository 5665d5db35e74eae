"""What reading took, by the state of the page cache."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pyscale.report.figures.axes import seconds_axis, workers_axis
from pyscale.report.figures.house import (
    NothingToDrawError,
    Width,
    figure,
    in_panels,
)
from pyscale.report.figures.scaling import Scaling
from pyscale.report.palette import CURVES, SINGLE
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot


class State(NamedTuple):
    """How a state of the page cache is shown."""

    words: str
    shape: str
    color: str


STATES = {
    "verified-cold": State("cold, proved", "o", CURVES[0]),
    "evicted-unverified": State("evicted, not proved", "D", CURVES[5]),
    "warm": State("warm", "^", CURVES[1]),
    "asis": State("as it was", "s", SINGLE),
    "unsupported": State("not to be controlled", "v", CURVES[6]),
}
"""By the words of the tables; shapes tell them apart without any colour."""


def cache(results: Results, *others: Results, width_mm: Width = 180) -> ggplot:
    """Draw how long the workers of every timed trial read, by the state of the page cache.

    Parameters
    ----------
    results : Results
        Whose curves are the panels.
    *others : Results
        More runs of the same stages, such as a warm one beside a cold one.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where no time of reading was recorded.
    """
    from plotnine import aes, geom_point, guide_legend, scale_color_manual, scale_shape_manual

    several = [one.trials for one in (results, *others)]
    wanted = ("suite", "stage", "device", "workers", "cache_state", "phase_read_s")
    reading = pl.concat(
        [trials.filter("valid").select(wanted) for trials in several], how="vertical_relaxed"
    ).filter(pl.col("phase_read_s") > 0, pl.col("cache_state").is_in(list(STATES)))
    shown = Scaling.of(results, width_mm).only(reading)
    if not shown.found:
        raise NothingToDrawError(
            f"there is no figure of the page cache in {results.context.title}: it needs trials of "
            "a run of pyscale whose reading was recorded"
        )
    states = [state for state in STATES if state in set(reading["cache_state"])]
    # Beside each other, where one would hide the other.
    places = zip(states, _centred(len(states)), strict=True)
    aside = {state: shown.aside(place) for state, place in places}
    rows = [
        {
            "panel": shown.title(curve),
            "workers": row["workers"] * aside[row["cache_state"]],
            "state": row["cache_state"],
            "read_s": row["phase_read_s"],
        }
        for curve in shown.found
        for row in curve.select(reading).iter_rows(named=True)
    ]
    titles = [shown.title(curve) for curve in shown.found]
    words = [STATES[state].words for state in states]
    marks: dict[str, Any] = {"limits": states, "labels": words}
    marks["guide"] = guide_legend(ncol=shown.sheet.legend_columns(words), byrow=True)
    plot: ggplot = (
        figure(
            shown.sheet,
            titles,
            "Marks: what the workers of one trial took to read, together, by the state of the page "
            "cache before it"
            f"{'; states stand beside each other at each N' if len(states) > 1 else ''}.",
            "Reading includes decoding. The caches of servers and of disks cannot be seen.",
            *shown.stand_ins,
            scales="free_y",
            legend=words,
        )
        + geom_point(
            aes("workers", "read_s", color="state", shape="state"),
            in_panels(["workers", "state", "read_s"], rows, titles),
            size=1.5,
            fill="none",
            stroke=0.6,
        )
        + scale_color_manual([STATES[state].color for state in states], **marks)
        + scale_shape_manual([STATES[state].shape for state in states], **marks)
        + workers_axis(shown.counts, shown.sheet)
        + seconds_axis("Reading (worker-seconds)")
    )
    return plot


def _centred(count: int) -> list[float]:
    """Places around none: 0 for one, half to either side for two."""
    return [(count - 1) / 2 - place for place in range(count)]
