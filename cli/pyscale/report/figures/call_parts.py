"""What a call consists of, against the size of an image."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.report import palette
from pyscale.report.charts.gridrows import part_names, part_rows
from pyscale.report.figures.axes import thinned
from pyscale.report.figures.house import NothingToDrawError, Sheet, Width, figure, in_panels
from pyscale.report.grid.sweep import sweeps
from pyscale.report.grid.words import part
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot

BAR = 0.72
"""Width of a bar, of the distance between two."""


def call_parts(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the shares of a call's parts at every size as stacked bars, a panel a device.

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
        Where the parts of no call are known.
    """
    import pandas as pd
    from plotnine import (
        aes,
        geom_col,
        guide_legend,
        position_stack,
        scale_fill_manual,
        scale_x_continuous,
        scale_y_continuous,
    )

    found = sweeps(results.grids)
    rows = part_rows(found)
    if not rows:
        raise NothingToDrawError(
            f"there is no figure of what a call consists of in {results.context.title}: it needs "
            "a run with a grid of a stage that times the parts of its calls"
        )
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    sheet = Sheet(len(panels), width_mm)
    titles = {panel: sheet.title(panel) for panel in panels}
    lengths = sorted({row["length_px"] for row in rows})
    places = {length: place for place, length in enumerate(lengths, start=1)}
    seen = {row["part"] for row in rows}
    names = [name for name in part_names(found) if part(name) in seen]
    labels = [part(name) for name in names]
    bars = in_panels(
        ["place", "part", "share"],
        [{**row, "panel": titles[row["panel"]], "place": places[row["length_px"]]} for row in rows],
        list(titles.values()),
    )
    bars = bars.assign(part=bars["part"].astype(pd.CategoricalDtype(labels)))
    # Its annotation knows only the words for a guide.
    guide: Any = guide_legend(ncol=sheet.legend_columns(labels), byrow=True)
    plot: ggplot = (
        figure(
            sheet,
            list(titles.values()),
            "Bars: shares of a call, medians, stacked from the axis in the order of the legend.",
            *results.context.timed,
            legend=labels,
        )
        + geom_col(
            aes("place", "share", fill="part"),
            bars,
            # The first part stands on the axis.
            position=position_stack(reverse=True),
            width=BAR,
            color="white",
            size=0.15,
        )
        + scale_fill_manual(
            values=[_colour(name, part_names(found)) for name in names],
            limits=labels,
            guide=guide,
        )
        + scale_x_continuous(
            name="Side of the image (px)",
            breaks=list(places.values()),
            minor_breaks=[],
            labels=thinned([f"{length:.0f}" for length in lengths], list(places.values()), sheet),
        )
        + scale_y_continuous(
            name="Share of a call",
            breaks=[0, 0.25, 0.5, 0.75, 1],
            labels=lambda shares: [f"{100 * share:.0f} %" for share in shares],
            expand=(0, 0, 0.02, 0),
        )
    )
    return plot


def _colour(name: str, names: list[str]) -> str:
    if name == UNATTRIBUTED:
        return palette.PARTS[UNATTRIBUTED]
    return palette.CALL_PARTS[names.index(name) % len(palette.CALL_PARTS)]
