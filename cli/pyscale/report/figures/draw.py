"""Draw a declared plot in print."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyscale.report import palette
from pyscale.report.figures.axes import log_breaks, power_breaks, tick_labels, workers_axis
from pyscale.report.figures.dots import Below, Looks
from pyscale.report.figures.house import (
    IDEAL_LINE,
    LETTER_MM,
    SMALL_POINTS,
    NothingToDrawError,
    Sheet,
    Width,
    drawn,
    figure,
    in_panels,
)
from pyscale.report.plots.plot import Plot, Row
from pyscale.report.results import Results

if TYPE_CHECKING:
    import pandas as pd
    from plotnine import ggplot

LANE_MM, LEAST_MM = 5.0, 14.0
"""Height of a lane of marks, and of the smallest panel."""
BESIDE_MM = 3.0
"""Between the names of lanes and the panel."""
LABELLED_MM = 60
"""Height of a panel whose marks have labels, so that those of neighbours have room."""
ASIDE = 0.12
"""Between marks beside each other, of the distance between the closest two counts."""
DASHES = ("dashed", "dotted", "dashdot", (0, (6, 1.5)), (0, (1, 3)), (0, (6, 2, 1, 2, 1, 2)))
"""Of lines of other machines."""
LABEL_SHARE = 0.2
"""Of an axis, beyond the outermost mark: room for its label."""


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
    titles = {name: sheet.title(*plot.headings.get(name, [name])) for name in plot.panels}
    looks = Looks.of(plot.rows, plot.series, plot.known)
    rows = [{**row, "panel": titles[row["curve"]], "at": _at(plot, row)} for row in plot.rows]
    table = in_panels([*plot.columns, *(["at"] if plot.aside else [])], rows, [*titles.values()])
    whole: ggplot = (
        figure(
            sheet,
            list(titles.values()),
            *plot.sentences,
            *plot.printed,
            scales="free" if plot.front else "free_y" if plot.has_own_scales else "fixed",
            legend=_legend(plot, looks, sheet),
        )
        + drawn(*_beside(plot, looks, titles), *_layers(plot, table))
        + looks.scales(sheet, is_named=plot.others is not None)
        + _dashes(plot, sheet)
        + _axes(plot, sheet)
    )
    return whole


def _sheet(plot: Plot, width_mm: Width) -> Sheet:
    """Panels with lanes lie below each other: names beside them need room."""
    if not plot.lanes:
        return Sheet(len(plot.panels), width_mm, LABELLED_MM if plot.front else None)
    beside_mm = LETTER_MM * max(map(len, plot.lanes)) + BESIDE_MM
    return Below(len(plot.panels), width_mm, max(LEAST_MM, LANE_MM * len(plot.lanes)), beside_mm)


def _at(plot: Plot, row: Row) -> Any:
    """Where a mark stands, beside its count where several would hide each other."""
    at = row[plot.along.column]
    if not plot.aside:
        return at
    counts = sorted({row[plot.along.column] for row in plot.rows})
    octaves = min((math.log2(after / before) for before, after in pairwise(counts)), default=1.0)
    return at * 2 ** (ASIDE * octaves * row[plot.aside])


def _others(plot: Plot) -> list[str]:
    """Names of lines that were measured elsewhere."""
    return list(dict.fromkeys(row[plot.series] for row in plot.others.rows)) if plot.others else []


def _legend(plot: Plot, looks: Looks, sheet: Sheet) -> list[str]:
    """Entries that need room below the panels: each kind of line begins a row."""
    others = _others(plot)
    if not others:
        return looks.legend
    kinds = (looks.names, others)
    rows = sum(map(sheet.legend_rows, kinds))
    longest = max((name for names in kinds for name in names), key=len)
    return [longest] * (sheet.legend_columns([longest]) * (rows - 1) + 1)


def _dashes(plot: Plot, sheet: Sheet) -> list[Any]:
    """Scale of what was measured elsewhere, below that of the series."""
    from plotnine import guide_legend, scale_linetype_manual, theme

    if not (others := _others(plot)):
        return []
    dashes = [DASHES[place % len(DASHES)] for place in range(len(others))]
    guide: Any = guide_legend(ncol=sheet.legend_columns(others), byrow=True)
    return [
        scale_linetype_manual(dashes, limits=others, guide=guide),
        theme(legend_box="vertical", legend_box_just="center"),
    ]


def _beside(plot: Plot, looks: Looks, titles: dict[str, str]) -> list[Any]:
    """What was measured elsewhere, and where series end."""
    from plotnine import aes, geom_line, geom_rect, geom_segment

    def table(rows: list[Row], columns: list[str]) -> pd.DataFrame:
        own = [{**row, "panel": titles[row["curve"]]} for row in rows if row["curve"] in titles]
        return in_panels(columns, own, list(titles.values()))

    along, value, series = plot.along.column, plot.value.column, plot.series
    layers: list[Any] = []
    if plot.others:
        others = table(plot.others.rows, [along, series, value]).dropna(subset=[value])
        joined = others[others.duplicated(["panel", series], keep=False)]
        grey: dict[str, Any] = {"color": palette.REFERENCE, "size": 0.45}
        layers.append(geom_line(aes(along, value, linetype=series), joined, **grey))
    if plot.ends:
        ends = table(plot.ends.rows, ["from", "to", "ceiling", "low", "high", series])
        for name, tint in zip(looks.names, looks.colours, strict=True):
            # A scale of fills would take the colours out of the legend.
            band = aes(xmin="from", xmax="to", ymin="low", ymax="high")
            layers.append(geom_rect(band, ends[ends[series] == name], fill=tint, alpha=0.2))
        line = aes("from", "ceiling", xend="to", yend="ceiling", color=series)
        layers.append(geom_segment(line, ends, size=0.5, show_legend=False))
    return layers


def _layers(plot: Plot, table: pd.DataFrame) -> list[Any]:
    """Marks with what belongs to them; what lies below comes first."""
    from plotnine import (
        aes,
        geom_errorbar,
        geom_errorbarh,
        geom_hline,
        geom_line,
        geom_point,
        geom_step,
        geom_text,
        geom_vline,
    )

    value, series = plot.value.column, plot.series
    low, high = f"{value}_low", f"{value}_high"
    v, a = ("x", "y") if plot.lanes else ("y", "x")
    place, beside = {v: value}, {a: "at" if plot.aside else plot.along.column}
    layers: list[Any] = []
    if plot.level:
        levels = table.dropna(subset=[plot.level]).drop_duplicates(["panel", plot.level])
        level: dict[str, Any] = {f"{v}intercept": plot.level}
        line = geom_vline if plot.lanes else geom_hline
        layers.append(line(aes(**level), levels, **IDEAL_LINE))
    if plot.ideal:
        ideals = table.drop_duplicates(["panel", plot.along.column])
        ideals = ideals[ideals.duplicated("panel", keep=False)]
        layers.append(geom_line(aes(plot.along.column, plot.ideal), ideals, **IDEAL_LINE))
    if plot.front:
        front = table[table[plot.front].astype(bool)].sort_values(plot.along.column)
        joined = front[front.duplicated("panel", keep=False)]
        step: dict[str, Any] = {"direction": "vh", "size": 0.5, "color": palette.SINGLE}
        layers.append(geom_step(aes(**place, **beside), joined, **step))
        text: dict[str, Any] = {"size": SMALL_POINTS, "ha": "left", "va": "bottom"}
        text["nudge_x"] = 0.02 * float(table[plot.along.column].max())
        labelled = front[front["label"] != ""]
        layers.append(geom_text(aes(**place, **beside, label="label"), labelled, **text))
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
    from plotnine import (
        expand_limits,
        labs,
        scale_x_continuous,
        scale_x_log10,
        scale_y_continuous,
        scale_y_discrete,
        scale_y_log10,
    )

    log: dict[str, Any] = {"breaks": log_breaks, "minor_breaks": [], "labels": tick_labels}
    title = plot.value.title
    if plot.lanes:
        lanes = scale_y_discrete(limits=plot.lanes[::-1])
        return [scale_x_log10(name=title, **log), lanes, labs(y="")]
    if plot.value.scale == "linear":
        room = (0.03, 0, 0.08, 0)
        scale = scale_y_continuous(name=title, labels=tick_labels, expand=room)
        values = [scale, expand_limits(y=0)]
    elif plot.value.scale == "log2":
        log["breaks"] = power_breaks
        values = [scale_y_continuous(name=title, trans="log2", **log)]
    else:
        values = [scale_y_log10(name=title, **log)]
    if plot.along.kind == "linear":
        along = scale_x_continuous(name=plot.along.title, expand=(0.03, 0, LABEL_SHARE, 0))
        return [*values, along, expand_limits(x=0)]
    counts = sorted({row[plot.along.column] for row in plot.rows})
    return [*values, workers_axis(counts, sheet, plot.along.title)]
