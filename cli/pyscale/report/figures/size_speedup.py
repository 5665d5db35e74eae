"""How many times as fast one device is as another, against the size of an image."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.report.charts.gridrows import ceiling_rows
from pyscale.report.figures.axes import tick_labels
from pyscale.report.figures.house import Width, figure
from pyscale.report.figures.sizes import Sizes
from pyscale.report.grid.words import ratio_title
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot


def size_speedup(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw ratios of times over sizes on a logarithmic axis, and what they flatten at.

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
        Where no two points were compared.
    """
    from plotnine import expand_limits, scale_y_continuous

    shown = Sizes.of(results, width_mm, "ratio")
    flat = ["Line across and band: what the ratio flattens at, with its 95 % interval."]
    plot: ggplot = (
        figure(
            shown.sheet,
            shown.titles,
            "Marks: ratios of median times; dashed at 1: as fast.",
            *shown.bars("ratio", "95 % intervals by bootstrap"),
            *(flat if ceiling_rows(shown.found) else []),
            *shown.sentences,
            *results.context.timed,
            legend=shown.legend,
        )
        + shown.ceilings()
        + shown.others("ratio")
        + shown.marks("ratio")
        + shown.looks()
        + shown.axis()
        + expand_limits(y=0)
        + scale_y_continuous(
            name=ratio_title(line.base for sweep in shown.found for line in sweep.compared),
            minor_breaks=[],
            labels=tick_labels,
        )
    )
    return plot
