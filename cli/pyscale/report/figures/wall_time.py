"""Wall time against the number of workers."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.report import palette
from pyscale.report.figures.axes import seconds_axis, workers_axis
from pyscale.report.figures.house import (
    Width,
    figure,
)
from pyscale.report.figures.scaling import Scaling
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot


def wall_time(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the wall time of every trial and configuration, both axes logarithmic.

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
        Where no trial was timed.
    """
    from plotnine import aes, geom_point

    shown = Scaling.of(results, width_mm)
    plot: ggplot = (
        figure(
            shown.sheet,
            shown.titles,
            "Large dots, joined: medians; small dots, set to their left: single trials; dashed: "
            "ideal scaling of the baseline.",
            *shown.sentences("wall_s", "95 % intervals of the median by order statistics"),
            scales="free_y",
        )
        + shown.ideal("wall_s")
        + geom_point(
            aes("workers", "wall_s"),
            shown.singles(),
            color=palette.SINGLE,
            size=0.9,
            stroke=0,
        )
        + shown.marks("wall_s")
        + workers_axis(shown.counts, shown.sheet)
        + seconds_axis("Wall time (s)")
    )
    return plot
