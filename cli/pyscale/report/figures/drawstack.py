"""Draw declared stacked bars in print."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

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

if TYPE_CHECKING:
    from plotnine import ggplot

BAR = 0.72
"""Width of a bar, of the distance between two."""


def stack_figure(stack: Stack, width_mm: Width) -> ggplot:
    """Draw bars of parts."""
    import pandas as pd
    from plotnine import (
        aes,
        geom_col,
        geom_point,
        geom_segment,
        position_stack,
        scale_x_continuous,
        scale_y_continuous,
    )

    sheet = Sheet(len(stack.panels), width_mm)
    titles = {name: sheet.title(*stack.headings.get(name, [name])) for name in stack.panels}
    panels, names = list(titles.values()), list(stack.names)
    amount = stack.relative if stack.prints == "relative" else stack.absolute
    places = {name: place for place, name in enumerate(stack.bars, start=1)}
    rows = [
        row | {"panel": titles[row[stack.panel]], "place": places[row[stack.along.column]]}
        for row in stack.rows
    ]
    bars = in_panels(["place", "part", amount.column], rows, panels)
    bars = bars.assign(part=bars["part"].astype(pd.CategoricalDtype(names)))
    whole = _whole_bars(rows, amount.column)
    levels = [
        {"panel": row["panel"], "level": row[amount.level]}
        | {"left": row["place"] - 0.5, "right": row["place"] + 0.5}
        for row in whole
        if amount.level
    ]
    crossed = [row for row in whole if stack.crossed and row[stack.crossed]]
    labels: Any = _percent if stack.prints == "relative" else tick_labels
    plot: ggplot = (
        figure(
            sheet,
            panels,
            *stack.sentences,
            *stack.printed,
            scales="fixed" if stack.prints == "relative" else "free_y",
            legend=names,
        )
        + geom_col(
            aes("place", amount.column, fill="part"),
            bars,
            # The first part stands on the axis.
            position=position_stack(reverse=True),
            width=BAR,
            color="white",
            size=0.15,
        )
        + drawn(
            geom_segment(
                aes("left", "level", xend="right", yend="level"),
                in_panels(["left", "right", "level"], levels, panels),
                **IDEAL_LINE,
            ),
            geom_point(
                aes("place", "total"), in_panels(["place", "total"], crossed, panels), **INVALID
            ),
        )
        + parts_scale(stack.names, sheet)
        + scale_x_continuous(
            name=stack.along.title,
            breaks=list(places.values()),
            minor_breaks=[],
            labels=thinned([str(name) for name in places], list(places.values()), sheet),
        )
        + scale_y_continuous(name=amount.title, labels=labels, expand=(0, 0, 0.06, 0))
    )
    return plot


def _whole_bars(rows: list[Row], column: str) -> list[Row]:
    """One row a bar, with the sum of its parts."""
    bars: dict[tuple[str, int], Row] = {}
    for row in rows:
        bar = bars.setdefault((row["panel"], row["place"]), row | {"total": 0.0})
        bar["total"] += row[column]
    return list(bars.values())


def _percent(shares: list[float]) -> list[str]:
    return [f"{100 * share:.0f} %" for share in shares]
