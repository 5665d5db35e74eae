"""Draw declared stacked bars in print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.report.figures.axes import parts_scale, thinned, tick_labels
from pyscale.report.figures.house import (
    IDEAL_LINE,
    INVALID,
    Sheet,
    Width,
    drawn,
    figure,
    in_panels,
)
from pyscale.report.plots.plot import Row, Stack
from pyscale.report.wording import percent

if TYPE_CHECKING:
    from plotnine import ggplot

BAR = 0.72
"""Width of a bar, of the distance between two."""


def stack_figure(stack: Stack, width_mm: Width) -> ggplot:
    """Draw bars of parts."""
    import pandas as pd
    import plotnine as p9

    sheet = Sheet(len(stack.panels), width_mm)
    titles = sheet.titles(stack)
    panels, names = list(titles.values()), list(stack.names)
    is_relative = stack.prints == "relative"
    amount = stack.relative if is_relative else stack.absolute
    places = {name: place for place, name in enumerate(stack.bars, start=1)}
    rows = [
        row | {"panel": titles[row[stack.panel]], "place": places[row[stack.along.column]]}
        for row in stack.rows
    ]
    bars = in_panels(["place", "part", amount.column], rows, panels)
    bars = bars.assign(part=bars["part"].astype(pd.CategoricalDtype(names)))
    # A row a bar, with the sum of its parts.
    whole: dict[tuple[str, int], Row] = {}
    for row in rows:
        level = {"level": amount.level and row[amount.level], "total": 0.0}
        level |= {"left": row["place"] - 0.5, "right": row["place"] + 0.5}
        bar = whole.setdefault((row["panel"], row["place"]), row | level)
        bar["total"] += row[amount.column]
    levels = list(whole.values()) if amount.level else []
    crossed = [row for row in whole.values() if stack.crossed and row[stack.crossed]]
    labels: Any = (lambda shares: list(map(percent, shares))) if is_relative else tick_labels
    plot: ggplot = (
        figure(
            sheet,
            panels,
            *stack.sentences,
            *stack.printed,
            scales="fixed" if is_relative else "free_y",
            legend=names,
        )
        + p9.geom_col(
            p9.aes("place", amount.column, fill="part"),
            bars,
            # The first part stands on the axis.
            position=p9.position_stack(reverse=True),
            width=BAR,
            color="white",
            size=0.15,
        )
        + drawn(
            p9.geom_segment(
                p9.aes("left", "level", xend="right", yend="level"),
                in_panels(["left", "right", "level"], levels, panels),
                **IDEAL_LINE,
            ),
            p9.geom_point(
                p9.aes("place", "total"), in_panels(["place", "total"], crossed, panels), **INVALID
            ),
        )
        + parts_scale(stack.names, sheet)
        + p9.scale_x_continuous(
            name=stack.along.title,
            breaks=list(places.values()),
            minor_breaks=[],
            labels=thinned([str(name) for name in places], list(places.values()), sheet),
        )
        + p9.scale_y_continuous(
            name=amount.title,
            labels=labels,
            expand=(0, 0, 0.06, 0),
        )
    )
    return plot
