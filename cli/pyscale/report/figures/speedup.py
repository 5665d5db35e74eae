"""Speedup over the baseline against the number of workers."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.report import scalingkind
from pyscale.report.figures.axes import power_breaks, tick_labels, workers_axis
from pyscale.report.figures.house import (
    Width,
    figure,
)
from pyscale.report.figures.scaling import Scaling
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot


def speedup(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the speedup over each curve's baseline, whose wall time its panel names.

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
    from plotnine import scale_y_continuous

    shown = Scaling.of(results, width_mm)
    scaled = scalingkind.legend(shown.found)
    plot: ggplot = (
        figure(
            shown.sheet,
            shown.titles,
            "Dots, joined: ratios of median wall times; dashed: ideal.",
            *shown.sentences("speedup", "95 % intervals by bootstrap"),
            *([scaled] if scaled else []),
        )
        + shown.ideal("speedup")
        + shown.marks("speedup")
        + workers_axis(shown.counts, shown.sheet)
        + scale_y_continuous(
            name=scalingkind.speedup_title(shown.found),
            trans="log2",
            breaks=power_breaks,
            minor_breaks=[],
            labels=tick_labels,
        )
    )
    return plot
