"""Dots on a line for each name, and lines over counts: what the figures of the machine share."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyscale.report import palette
from pyscale.report.figures.axes import log_breaks, thinned, tick_labels
from pyscale.report.figures.house import LETTER_MM, Sheet, Width, drawn, figure, in_panels
from pyscale.report.figures.sizes import MARKS

if TYPE_CHECKING:
    from plotnine import ggplot

Row = dict[str, Any]
LINE_MM, LEAST_MM = 5.0, 14.0
"""Height of a line of dots, and of the smallest panel."""
LEGEND_MM = 3.0
"""Between the labels of an axis and the panel."""


@dataclass(frozen=True)
class Below(Sheet):
    """Panels below each other, each as wide as the sheet: names beside them need room."""

    @property
    def columns(self) -> int:
        """Panels beside each other."""
        return 1


@dataclass(frozen=True)
class Looks:
    """Colour and mark of each value of a column, the same in every figure of it."""

    column: str
    names: list[str]
    colours: list[str]
    marks: list[str]

    @classmethod
    def of(cls, rows: Sequence[Row], column: str, known: Sequence[str]) -> Looks:
        """Take the values that occur, with the looks that each has among all."""
        looks = {
            name: (
                palette.CURVES[place % len(palette.CURVES)],
                MARKS[(place + place // len(palette.CURVES)) % len(MARKS)],
            )
            for place, name in enumerate(known)
        }
        names = [name for name in known if any(row[column] == name for row in rows)]
        return cls(
            column, names, [looks[name][0] for name in names], [looks[name][1] for name in names]
        )

    def scales(self, sheet: Sheet) -> list[Any]:
        """Scales of colours and marks, with their legend where there are several."""
        from plotnine import guide_legend, scale_color_manual, scale_shape_manual

        def guide() -> Any:
            # One a scale: a shared one would lose what it was given first.
            if len(self.names) < 2:
                return None
            return guide_legend(ncol=sheet.legend_columns(self.names), byrow=True)

        return [
            scale_color_manual(self.colours, limits=self.names, guide=guide()),
            scale_shape_manual(self.marks, limits=self.names, guide=guide()),
        ]

    @property
    def legend(self) -> list[str]:
        """Entries that need room."""
        return self.names if len(self.names) > 1 else []


def dots(
    rows: Sequence[Row],
    *,
    y: str,
    x: str,
    x_title: str,
    looks: Looks,
    sentences: Sequence[str],
    width_mm: Width,
    with_bars: bool = True,
    apart: str | None = None,
) -> ggplot:
    """Draw a dot for each row on the line of its name, on a logarithmic axis."""
    from plotnine import aes, geom_errorbarh, geom_point, labs, scale_x_log10, scale_y_discrete

    names = list(dict.fromkeys(row[y] for row in rows))
    panels = list(dict.fromkeys(row["curve"] for row in rows))
    beside_mm = LETTER_MM * max(map(len, names)) + LEGEND_MM
    height_mm = max(LEAST_MM, LINE_MM * len(names))
    sheet = Below(len(panels), width_mm, height_mm, beside_mm)
    titles = {panel: sheet.title(panel) if len(panels) > 1 else "" for panel in panels}
    ends = [f"{x}_low", f"{x}_high"]
    columns = list(dict.fromkeys([y, x, looks.column, *ends, *([apart] if apart else [])]))
    table = in_panels(
        columns, [{**row, "panel": titles[row["curve"]]} for row in rows], list(titles.values())
    )
    rings = table[table[apart]] if apart else table.iloc[:0]
    bars = table.dropna(subset=ends) if with_bars else table.iloc[:0]
    plot: ggplot = (
        figure(sheet, list(titles.values()), *sentences, legend=looks.legend)
        + drawn(
            geom_errorbarh(
                aes(y=y, xmin=ends[0], xmax=ends[1], color=looks.column),
                bars,
                height=0.3,
                size=0.5,
                show_legend=False,
            ),
            # Hollow: two GPUs of one kind lie upon each other.
            geom_point(
                aes(x, y, color=looks.column, shape=looks.column),
                table,
                fill="none",
                size=2.1,
                stroke=0.7,
            ),
            geom_point(aes(x, y), rings, shape="o", fill="none", size=3.4, stroke=0.6),
        )
        + looks.scales(sheet)
        + scale_x_log10(name=x_title, breaks=log_breaks, minor_breaks=[], labels=tick_labels)
        + scale_y_discrete(limits=names[::-1])
        + labs(y="")
    )
    return plot


def over_counts(
    rows: Sequence[Row],
    title: str,
    looks: Looks,
    sentences: Sequence[str],
    width_mm: Width,
) -> ggplot:
    """Draw rates over how many did it at once, both axes logarithmic, a panel a node."""
    from plotnine import (
        aes,
        geom_errorbar,
        geom_line,
        geom_point,
        scale_x_continuous,
        scale_y_log10,
    )

    panels = list(dict.fromkeys(row["curve"] for row in rows))
    sheet = Sheet(len(panels), width_mm)
    titles = {panel: sheet.title(panel) if len(panels) > 1 else "" for panel in panels}
    ends = ["rate_low", "rate_high"]
    table = in_panels(
        ["at_once", "rate", looks.column, *ends],
        [{**row, "panel": titles[row["curve"]]} for row in rows],
        list(titles.values()),
    )
    joined = table[table.duplicated(["panel", looks.column], keep=False)]
    counts = sorted({row["at_once"] for row in rows})
    labels = thinned([str(n) for n in counts], [math.log2(n) for n in counts], sheet)
    plot: ggplot = (
        figure(sheet, list(titles.values()), *sentences, legend=looks.legend)
        + drawn(
            geom_line(aes("at_once", "rate", color=looks.column), joined, size=0.5),
            geom_errorbar(
                aes("at_once", ymin=ends[0], ymax=ends[1], color=looks.column),
                table.dropna(subset=ends),
                size=0.5,
                width=0.03,
                show_legend=False,
            ),
            geom_point(
                aes("at_once", "rate", color=looks.column, shape=looks.column), table, size=1.9
            ),
        )
        + looks.scales(sheet)
        + scale_x_continuous(
            name=title,
            trans="log2",
            breaks=counts,
            minor_breaks=[],
            labels=labels,
            expand=(0.08, 0),
        )
        + scale_y_log10(name="MB/s", breaks=log_breaks, minor_breaks=[], labels=tick_labels)
    )
    return plot
