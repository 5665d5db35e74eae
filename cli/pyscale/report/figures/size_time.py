"""Time of a call against the size of an image."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.report.figures.axes import seconds_axis
from pyscale.report.figures.house import Width, figure
from pyscale.report.figures.sizes import Sizes
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot


def size_time(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the time of a call over sizes, both axes logarithmic, a line a device.

    Lines join the points: between two sizes lie others, which would take a time between theirs.

    Parameters
    ----------
    results : Results
        With a grid.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where no call was timed at any point of a grid.
    """
    shown = Sizes.of(results, width_mm, "call_s")
    plot: ggplot = (
        figure(
            shown.sheet,
            shown.titles,
            "Marks: median time of a call after the first of its process, joined by device.",
            *shown.bars("call_s", "95 % intervals of the median by order statistics"),
            *shown.sentences,
            *results.context.timed,
            legend=shown.legend,
        )
        + shown.others("call_s")
        + shown.marks("call_s")
        + shown.looks()
        + shown.axis()
        + seconds_axis("Time of a call (s)")
    )
    return plot
