"""Where the worker-seconds went, against the number of workers."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.report.figures.axes import (
    part_order,
    parts_scale,
    thinned,
    tick_labels,
)
from pyscale.report.figures.house import (
    IDEAL_LINE,
    INVALID,
    NothingToDrawError,
    Width,
    drawn,
    figure,
)
from pyscale.report.figures.scaling import Scaling
from pyscale.report.results import Results
from pyscale.report.wording import phase

if TYPE_CHECKING:
    import pandas as pd
    from plotnine import ggplot

BAR = 0.72
"""Width of a bar, of the distance between two."""
CROSS = "Cross: invalid, its output is not the baseline's: it did other work."


def losses(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the worker-seconds of every configuration as bars, stacked by part.

    Parameters
    ----------
    results : Results
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where the times of single tasks are not known.
    """
    from plotnine import (
        aes,
        geom_col,
        geom_point,
        geom_segment,
        position_stack,
        scale_x_continuous,
        scale_y_continuous,
    )

    shown = Scaling.of(results, width_mm).only(results.losses)
    if not shown.found:
        raise NothingToDrawError(
            f"there is no figure of where the time went in {results.context.title}: it needs the "
            "time of each task, in a table of wall times the column `task` or `mean_task_s`"
        )
    places = {workers: place for place, workers in enumerate(shown.counts, start=1)}
    bars = _bars(shown, results, places)
    base, crossed = _base_case(shown, places), _invalid(shown, places)
    parts = part_order(set(bars["part"]))
    plot: ggplot = (
        figure(
            shown.sheet,
            shown.titles,
            "Bars: workers times wall time of the trial of median wall time, by what the workers "
            "did, stacked from the axis in the order of the legend; idle: waiting for the slowest "
            "worker and for the merge.",
            "Dashed: what as much work took at the baseline; what lies above is the cost of more "
            "workers.",
            *([CROSS] if len(crossed) else []),
            *shown.stand_ins,
            scales="free_y",
            legend=[phase(part) for part in parts],
        )
        + geom_col(
            aes("place", "worker_seconds", fill="part"),
            bars,
            # The first part stands on the axis.
            position=position_stack(reverse=True),
            width=BAR,
            color="white",
            size=0.15,
        )
        + drawn(
            geom_segment(aes("left", "base_s", xend="right", yend="base_s"), base, **IDEAL_LINE),
            geom_point(aes("place", "worker_seconds"), crossed, **INVALID),
        )
        + parts_scale(parts, shown.sheet)
        + scale_x_continuous(
            name="Workers N",
            breaks=list(places.values()),
            minor_breaks=[],
            labels=thinned([str(n) for n in places], list(places.values()), shown.sheet),
        )
        + scale_y_continuous(name="Worker-seconds", labels=tick_labels, expand=(0, 0, 0.06, 0))
    )
    return plot


def _bars(shown: Scaling, results: Results, places: dict[int, int]) -> pd.DataFrame:
    """Parts of every configuration that took any time."""
    import pandas as pd

    rows = [
        {
            "panel": shown.panel(curve),
            "place": places[row["workers"]],
            "part": row["part"],
            "worker_seconds": row["worker_seconds"],
        }
        for curve in shown.found
        for row in curve.select(results.losses).iter_rows(named=True)
        if row["worker_seconds"] > 0
    ]
    table = shown.table(["place", "part", "worker_seconds"], rows)
    return table.assign(
        part=table["part"].astype(pd.CategoricalDtype(part_order(set(table["part"]))))
    )


def _base_case(shown: Scaling, places: dict[int, int]) -> pd.DataFrame:
    """What as much work held at the baseline, across each bar of a curve of several."""
    return shown.table(
        ["left", "right", "base_s"],
        [
            {
                "panel": shown.panel(curve),
                "left": places[row["workers"]] - 0.5,
                "right": places[row["workers"]] + 0.5,
                "base_s": row["growth"] * curve.timed[0]["worker_seconds"],
            }
            for curve in shown.found
            if len(curve.timed) > 1
            for row in curve.timed
        ],
    )


def _invalid(shown: Scaling, places: dict[int, int]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {"panel": shown.panel(curve), "place": places[row["workers"]]}
        | {"worker_seconds": row["worker_seconds"]}
        for curve in shown.found
        for row in curve.timed
        if row["invalid"]
    ]
    return shown.table(["place", "worker_seconds"], rows)
