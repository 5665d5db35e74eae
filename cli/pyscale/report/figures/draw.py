"""Draw what is declared in print."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pandas as pd
import plotnine as p9

from pyscale.report import palette
from pyscale.report.figures.axes import log_breaks, parts_scale, power_breaks, thinned, tick_labels
from pyscale.report.figures.house import (
    IDEAL_LINE,
    INVALID,
    LETTER_MM,
    SMALL_POINTS,
    NothingToDrawError,
    Sheet,
    drawn,
    figure,
    in_panels,
)
from pyscale.report.plots.plot import ENDS, RANGE, Beside, Plot, Row, Stack, Width
from pyscale.wording import percent

MARKS = ("o", "s", "^", "D", "P", "v", "X")
"""As `palette.SHAPES`, in the words of matplotlib."""
LANE_MM, LEAST_MM = 5.0, 14.0
"""Height of a lane of marks, and of the smallest panel."""
BESIDE_MM = 3.0
"""Between the names of lanes and the panel."""
LABELLED_MM = 60
"""Height of a panel whose marks have labels, so that those of neighbours have room."""
ASIDE, GAP = 0.04, 0.45
"""Between marks beside each other, as a fraction of the axis; but all that belongs to a count
stands within this fraction of the way to the next one."""
LABEL_SHARE = 0.2
"""Of an axis, beyond the outermost mark: room for its label."""


def printed(declare: Callable[..., Plot | Stack]) -> Callable[..., p9.ggplot]:
    """Make a function that draws what another declares."""

    def draw(*measured: Any, width_mm: Width = 180, **how: Any) -> p9.ggplot:
        return drawing(declare(*measured, **how), width_mm)

    draw.__doc__ = declare.__doc__
    return draw


def drawing(declared: Plot | Stack, width_mm: Width) -> p9.ggplot:
    """Draw a plot or stacked bars.

    Raises
    ------
    NothingToDrawError
        Without rows.
    """
    if not declared.rows:
        raise NothingToDrawError(f"there is no figure of {declared.absent}")
    if isinstance(declared, Stack):
        return stack_figure(declared, width_mm)
    return _plot(declared, width_mm)


def _plot(plot: Plot, width_mm: Width) -> p9.ggplot:
    sheet = Sheet(len(plot.panels), width_mm, LABELLED_MM if plot.front else None)
    if plot.lanes:
        # Panels lie below each other, for names beside them need room.
        beside_mm = LETTER_MM * max(map(len, plot.lanes)) + BESIDE_MM
        height_mm = max(LEAST_MM, LANE_MM * len(plot.lanes))
        sheet = Sheet(len(plot.panels), width_mm, height_mm, beside_mm, is_below=True)
    titles = sheet.titles(plot)
    # Panels may tell series apart.
    is_named = len(plot.looks) > 1 and plot.names != plot.panels
    whole: p9.ggplot = (
        figure(
            sheet,
            list(titles.values()),
            *plot.sentences,
            *plot.printed,
            scales="free" if plot.front else "free_y" if plot.has_own_scales else "fixed",
            legend=list(plot.looks) if is_named else [],
        )
        + _Layers(plot, titles).all()
        + _looks(plot, sheet, is_named=is_named)
        + _axes(plot, sheet)
    )
    return whole


def _colours(plot: Plot) -> dict[str, str]:
    """Colour of each series; of what was measured elsewhere alone there are grey marks."""
    hues = {name: palette.CURVES[hue] for name, (hue, _) in plot.looks.items()}
    return hues | dict.fromkeys(plot.only_elsewhere, palette.REFERENCE)


def _looks(plot: Plot, sheet: Sheet, *, is_named: bool) -> list[Any]:
    """Scales of colours and marks, with their legend."""
    names = list(plot.looks)
    marks = [MARKS[shape] for _, shape in plot.looks.values()]

    def guide() -> Any:
        # One a scale: a shared one would lose what it was given first.
        return p9.guide_legend(ncol=sheet.legend_columns(names), byrow=True) if is_named else None

    return [
        p9.scale_color_manual(list(_colours(plot).values()), limits=names, guide=guide()),
        p9.scale_shape_manual(marks, limits=names, guide=guide()),
    ]


@dataclass(frozen=True)
class _Layers:
    """Layers of a plot. Values lie across where names lie below each other."""

    plot: Plot
    titles: dict[str, str]

    def all(self) -> list[Any]:
        """What lies below comes first."""
        plot, series = self.plot, self.plot.series
        table = self.table(plot.rows)
        crossed = _where(table, plot.crossed)
        marked = table.drop(crossed.index)
        layers = self.level(table) if plot.level else []
        layers += [layer for one in plot.beside if one.rows for layer in self.beside(one)]
        if plot.front:
            layers += self.front(_where(table, plot.front))
        if plot.is_joined:
            layers.append(p9.geom_line(self.at(color=series), _joined(marked, series), size=0.5))
        layers += self.bars(marked)
        # Hollow on lanes: two GPUs of one kind lie upon each other.
        hollow: dict[str, Any] = {"fill": "none", "stroke": 0.7} if plot.lanes else {}
        rings = _where(table, plot.ringed)
        layers += [
            p9.geom_point(self.at(color=series, shape=series), marked, size=1.8, **hollow),
            p9.geom_point(self.at(), rings, shape="o", fill="none", size=3.4, stroke=0.6),
            p9.geom_point(self.at(), crossed, **INVALID),
        ]
        return list(drawn(*layers))

    def table(self, rows: list[Row], left: float = 0) -> pd.DataFrame:
        """Rows whose value is known, so many steps left of their places."""
        plot = self.plot
        value, along, series = plot.value.column, plot.along.column, plot.series
        asides = self.asides() if plot.is_aside else {}
        step = self.step if left or any(asides.values()) else 0.0
        own = []
        for row in rows:
            if row["curve"] in self.titles and row.get(value) is not None:
                steps = left + asides.get((row["curve"], row.get(series, "")), 0.0)
                # The axis counts doublings, so that a step aside is a factor.
                at = row[along] * 2 ** (-step * steps) if steps else row[along]
                own.append({**row, "panel": self.titles[row["curve"]], "at": at})
        values = [value + end for end in ("", *ENDS, *RANGE)]
        more = (plot.level, plot.front, plot.front and "label", plot.ringed, plot.crossed)
        columns = [along, "at", *values, series, *filter(None, more), "title"]
        return in_panels(list(dict.fromkeys(columns)), own, list(self.titles.values()))

    def asides(self) -> dict[tuple[str, str], float]:
        """Steps to the left of each series in each panel, where several would hide each other."""
        shown = {(row["curve"], row[self.plot.series]) for row in self.plot.drawn}
        found: dict[tuple[str, str], float] = {}
        for curve in self.plot.panels:
            own = [name for name in self.plot.names if (curve, name) in shown]
            found |= {(curve, name): (len(own) - 1) / 2 - place for place, name in enumerate(own)}
        return found

    @property
    def step(self) -> float:
        """By how many doublings one mark stands beside another."""
        places = [math.log2(count) for count in self.plot.counts]
        gap = min((after - before for before, after in pairwise(places)), default=1.0)
        most = max(2, len(self.plot.names)) / 2 if self.plot.is_aside else 1
        return min(ASIDE * self.octaves, GAP * gap / most)

    @property
    def octaves(self) -> float:
        return max(1.0, math.log2(self.plot.counts[-1] / self.plot.counts[0]))

    @property
    def across(self) -> tuple[str, str]:
        """Axes of the values and of what they lie along."""
        return ("x", "y") if self.plot.lanes else ("y", "x")

    def at(self, **looks: str) -> Any:
        value, along = self.across
        places = {value: self.plot.value.column, along: "at"}
        return p9.aes(**places, **looks)

    def between(self, ends: tuple[str, str], **looks: str) -> Any:
        value, along = self.across
        low, high = (self.plot.value.column + end for end in ends)
        places = {f"{value}min": low, f"{value}max": high, along: "at"}
        return p9.aes(**places, **looks)

    def bars(self, table: pd.DataFrame) -> list[Any]:
        bar = p9.geom_errorbarh if self.plot.lanes else p9.geom_errorbar
        looks: dict[str, Any] = {"height": 0.3} if self.plot.lanes else {"width": 0.02}
        if self.plot.along.kind == "counts":
            # A width is in doublings, as the axis is: this makes it the same share of any axis.
            looks["width"] *= self.octaves
        looks["show_legend"] = False
        ranges, intervals = (self.between(e, color=self.plot.series) for e in (RANGE, ENDS))
        return [
            p9.geom_linerange(ranges, self.known(table, RANGE), size=0.3, show_legend=False),
            bar(intervals, self.known(table, ENDS), size=0.5, **looks),
        ]

    def known(self, table: pd.DataFrame, ends: tuple[str, str]) -> pd.DataFrame:
        return table.dropna(subset=[self.plot.value.column + end for end in ends])

    def beside(self, one: Beside) -> list[Any]:
        series, grey = self.plot.series, palette.REFERENCE
        table = self.table(one.rows, left=1 if one.kind == "single" else 0)
        known = self.known(table, ENDS)
        match one.kind:
            case "ideal":
                band = p9.geom_ribbon(self.between(ENDS), known, fill=palette.SINGLE, alpha=0.3)
                joined = _joined(table, "title")
                return [band, p9.geom_line(self.at(group="title"), joined, **IDEAL_LINE)]
            case "law":
                at = self.at(color=series)
                line = p9.geom_line(at, table, linetype="dotted", size=0.6, show_legend=False)
                # A scale of fills would take the colours out of the legend.
                bands = [
                    p9.geom_ribbon(
                        self.between(ENDS), known[known[series] == name], fill=hue, alpha=0.2
                    )
                    for name, hue in _colours(self.plot).items()
                ]
                return [*bands, line]
            case "single":
                return [p9.geom_point(self.at(), table, color=palette.SINGLE, size=0.9, stroke=0)]
            case "asked":
                ticks = self.at(color=series)
                return [p9.geom_point(ticks, table, shape="_", size=4, show_legend=False)]
            case "elsewhere":
                group, marks = self.at(group=f"{series} + title"), self.at(shape=series)
                joined = _joined(table, series, "title")
                hollow: dict[str, Any] = {"size": 1.5, "fill": "none", "stroke": 0.5}
                return [
                    p9.geom_line(group, joined, linetype="dotted", color=grey),
                    p9.geom_linerange(self.between(ENDS), known, size=0.4, color=grey),
                    p9.geom_point(marks, table, **hollow, color=grey, show_legend=False),
                ]

    def level(self, table: pd.DataFrame) -> list[Any]:
        column = self.plot.level
        levels = table.dropna(subset=[column]).drop_duplicates(["panel", column])
        line = p9.geom_vline if self.plot.lanes else p9.geom_hline
        return [line(p9.aes(**{f"{self.across[0]}intercept": column}), levels, **IDEAL_LINE)]

    def front(self, front: pd.DataFrame) -> list[Any]:
        front = front.sort_values(self.plot.along.column)
        text: dict[str, Any] = {"size": SMALL_POINTS, "ha": "left", "va": "bottom"}
        text["nudge_x"] = 0.02 * self.plot.counts[-1]
        return [
            p9.geom_step(self.at(), _joined(front), direction="vh", size=0.5, color=palette.SINGLE),
            p9.geom_text(self.at(label="label"), front[front["label"] != ""], **text),
        ]


def _where(table: pd.DataFrame, column: str | None) -> pd.DataFrame:
    """Rows of which a column holds; none without one."""
    return table[table[column].astype(bool)] if column else table.head(0)


def _joined(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Rows of lines; plotnine warns of a line that joins nothing."""
    return table[table.duplicated(["panel", *columns], keep=False)]


def _axes(plot: Plot, sheet: Sheet) -> list[Any]:
    log: dict[str, Any] = {"breaks": log_breaks, "minor_breaks": [], "labels": tick_labels}
    title = plot.value.title
    if plot.lanes:
        # The first name of a scale is drawn lowest.
        lanes = p9.scale_y_discrete(limits=plot.lanes[::-1])
        return [p9.scale_x_log10(name=_logarithmic(title), **log), lanes, p9.labs(y="")]
    if plot.value.scale == "linear" or plot.value.prints_from_0:
        room = (0.03, 0, 0.08, 0)
        scale = p9.scale_y_continuous(name=title, labels=tick_labels, expand=room)
        values = [scale, p9.expand_limits(y=0)]
    elif plot.value.scale == "log2":
        log |= {"breaks": power_breaks}
        values = [p9.scale_y_continuous(name=_logarithmic(title), trans="log2", **log)]
    else:
        values = [p9.scale_y_log10(name=_logarithmic(title), **log)]
    if plot.along.kind == "linear":
        along = p9.scale_x_continuous(name=plot.along.title, expand=(0.03, 0, LABEL_SHARE, 0))
        return [*values, along, p9.expand_limits(x=0)]
    labels = [f"{count:.0f}" for count in plot.counts]
    along = p9.scale_x_continuous(
        name=_logarithmic(plot.along.title),
        trans="log2",
        breaks=plot.counts,
        # plotnine cannot place minor ticks beside a single major one.
        minor_breaks=[],
        labels=thinned(labels, [math.log2(count) for count in plot.counts], sheet),
        expand=(0.08, 0),
    )
    return [*values, along]


def _logarithmic(title: str) -> str:
    """Say what no reader sees on few ticks."""
    return f"{title[:-1]}, log scale)" if title.endswith(")") else f"{title} (log scale)"


BAR = 0.72
"""Width of a bar, of the distance between two."""


def stack_figure(stack: Stack, width_mm: Width) -> p9.ggplot:
    """Draw bars of parts."""
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
    plot: p9.ggplot = (
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
