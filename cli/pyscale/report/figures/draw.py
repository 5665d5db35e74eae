"""Draw a declared plot in print."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.report.figures.axes import log_breaks, tick_labels, workers_axis
from pyscale.report.figures.dots import Below, Looks
from pyscale.report.figures.house import (
    IDEAL_LINE,
    LETTER_MM,
    NothingToDrawError,
    Sheet,
    Width,
    drawn,
    figure,
    in_panels,
)
from pyscale.report.plots.plot import Plot
from pyscale.report.results import Results

if TYPE_CHECKING:
    import pandas as pd
    from plotnine import ggplot

LANE_MM, LEAST_MM = 5.0, 14.0
"""Height of a lane of marks, and of the smallest panel."""
BESIDE_MM = 3.0
"""Between the names of lanes and the panel."""


def figure_of(plot: Plot, results: Results, width_mm: Width) -> ggplot:
    """Draw marks with intervals.

    Raises
    ------
    NothingToDrawError
        Without rows.
    """
    if not plot.rows:
        raise NothingToDrawError(f"there is no figure in {results.context.title} of {plot.absent}")
    sheet = _sheet(plot, width_mm)
    several = len(plot.panels) > 1
    titles = {name: sheet.title(name) if several else "" for name in plot.panels}
    looks = Looks.of(plot.rows, plot.series, plot.known)
    rows = [{**row, "panel": titles[row["curve"]]} for row in plot.rows]
    table = in_panels(plot.columns, rows, list(titles.values()))
    whole: ggplot = (
        figure(sheet, list(titles.values()), *plot.sentences, legend=looks.legend)
        + drawn(*_layers(plot, table))
        + looks.scales(sheet)
        + _axes(plot, sheet)
    )
    return whole


def _sheet(plot: Plot, width_mm: Width) -> Sheet:
    """Panels with lanes lie below each other: names beside them need room."""
    if not plot.lanes:
        return Sheet(len(plot.panels), width_mm)
    beside_mm = LETTER_MM * max(map(len, plot.lanes)) + BESIDE_MM
    return Below(len(plot.panels), width_mm, max(LEAST_MM, LANE_MM * len(plot.lanes)), beside_mm)


def _layers(plot: Plot, table: pd.DataFrame) -> list[Any]:
    """Marks with what belongs to them; what lies below comes first."""
    from plotnine import (
        aes,
        geom_errorbar,
        geom_errorbarh,
        geom_hline,
        geom_line,
        geom_point,
        geom_vline,
    )

    value, series = plot.value.column, plot.series
    low, high = f"{value}_low", f"{value}_high"
    v, a = ("x", "y") if plot.lanes else ("y", "x")
    place, beside = {v: value}, {a: plot.along.column}
    layers: list[Any] = []
    if plot.level is not None:
        level: dict[str, Any] = {f"{v}intercept": plot.level}
        line = geom_vline if plot.lanes else geom_hline
        layers.append(line(**level, **IDEAL_LINE))
    if plot.is_joined:
        # plotnine warns of a line that joins nothing.
        joined = table[table.duplicated(["panel", series], keep=False)]
        layers.append(geom_line(aes(**place, **beside, color=series), joined, size=0.5))
    if plot.value.has_bars:
        bar = geom_errorbarh if plot.lanes else geom_errorbar
        cap: dict[str, Any] = {"height": 0.3} if plot.lanes else {"width": 0.03}
        ends = {f"{v}min": low, f"{v}max": high}
        table_of_bars = table.dropna(subset=[low, high])
        mapping = aes(**ends, **beside, color=series)
        layers.append(bar(mapping, table_of_bars, size=0.5, show_legend=False, **cap))
    # Hollow on lanes: two GPUs of one kind lie upon each other.
    hollow: dict[str, Any] = {"fill": "none", "stroke": 0.7} if plot.lanes else {}
    mapping = aes(**place, **beside, color=series, shape=series)
    layers.append(geom_point(mapping, table, size=2.1, **hollow))
    if plot.ringed:
        rings = table[table[plot.ringed].astype(bool)]
        ring: dict[str, Any] = {"shape": "o", "fill": "none", "size": 3.4, "stroke": 0.6}
        layers.append(geom_point(aes(**place, **beside), rings, **ring))
    return layers


def _axes(plot: Plot, sheet: Sheet) -> list[Any]:
    from plotnine import labs, scale_x_log10, scale_y_discrete, scale_y_log10

    log: dict[str, Any] = {"breaks": log_breaks, "minor_breaks": [], "labels": tick_labels}
    if plot.lanes:
        return [
            scale_x_log10(name=plot.value.title, **log),
            scale_y_discrete(limits=plot.lanes[::-1]),
            labs(y=""),
        ]
    counts = sorted({row[plot.along.column] for row in plot.rows})
    return [
        workers_axis(counts, sheet, plot.along.title),
        scale_y_log10(name=plot.value.title, **log),
    ]
