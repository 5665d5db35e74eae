"""What every worker of a trial did when, and who waited for whom."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pyscale.analysis.losses import middle_trials
from pyscale.report import palette
from pyscale.report.curves import Curve, curves
from pyscale.report.figures.axes import part_order, parts_scale, tick_labels
from pyscale.report.figures.house import (
    LETTER_MM,
    LINE_MM,
    PANEL_MM,
    SMALL_POINTS,
    NothingToDrawError,
    Sheet,
    Width,
    drawn,
    figure,
    in_panels,
)
from pyscale.report.results import Results
from pyscale.report.wording import phase

if TYPE_CHECKING:
    from plotnine import ggplot

APART = 100_000
"""Rows between the lanes of two panels, more than a trial has workers: so each panel of one axis
has labels of its own."""
LONGEST_NAME = 10
"""Letters of a node's name that there is room for."""
BESIDE_MM = 7
"""What stands beside a panel but for the names of nodes."""
THICK, MANY_LANES, MANY_PIECES = 0.84, 40, 5000
"""Height of a lane where there are gaps between them; with how many there are none, and of how
many pieces a picture is drawn in place of as many shapes, which make a file of megabytes."""


def timeline(results: Results, trials: Sequence[str] = (), *, width_mm: Width = 180) -> ggplot:
    """Draw trials in time: a row for each worker, by node, in the colours of the phases.

    Parameters
    ----------
    results : Results
    trials : sequence of str
        Which; without any, of each curve that of median wall time at the largest N.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where no phases were recorded, or nothing of these trials.
    """
    from plotnine import aes, geom_hline, geom_rect, scale_x_continuous, scale_y_continuous

    shown = list(_shown(results, trials))
    absent = set(trials).difference(pieces["trial"][0] for _, pieces in shown)
    if absent or not shown:
        raise NothingToDrawError(
            f"there is no timeline of {', '.join(sorted(absent)) or results.context.title}: it "
            "needs trials of a run of pyscale whose phases were recorded"
        )
    most = max(len(_Lanes.of(pieces).nodes) for _, pieces in shown)
    letters = max(len(_short(node)) for _, pieces in shown for node, *_ in _Lanes.of(pieces).spans)
    sheet = Sheet(len(shown), width_mm, _height_mm(width_mm, most), BESIDE_MM + LETTER_MM * letters)
    rows: list[dict[str, Any]] = []
    ticks: dict[float, str] = {}
    borders: list[dict[str, Any]] = []
    titles = []
    for place, (name, pieces) in enumerate(shown):
        lanes = _Lanes.of(pieces)
        title = sheet.title(name, f"N = {pieces['workers'][0]}, repeat {pieces['block'][0]}")
        titles.append(title)
        top = -APART * place
        rows += [row | {"panel": title} for row in _rectangles(pieces, lanes, top, most)]
        ticks |= {top - at: label for at, label in lanes.labels(sheet)}
        if len(list(lanes.labels(sheet))) == len(lanes.spans):
            borders += [{"panel": title, "at": top - at} for at in lanes.borders]
    parts = part_order({row["part"] for row in rows})
    columns = ["part", "left", "right", "bottom", "top"]
    plot: ggplot = (
        figure(
            sheet,
            titles,
            "A row is a worker, by node; bars: what it did, by the legend; blank: nothing of the "
            "trial. A worker that has ended is idle until the slowest one has, and during the "
            "merge, which stands in the row of the one that ended last.",
            *results.context.timed,
            *([] if trials else ["Trials of median wall time at the largest N."]),
            scales="free",
            legend=[phase(part) for part in parts],
        )
        + geom_rect(
            aes(xmin="left", xmax="right", ymin="bottom", ymax="top", fill="part"),
            in_panels(columns, rows, titles),
            raster=len(rows) > MANY_PIECES,
        )
        + drawn(
            geom_hline(
                aes(yintercept="at"),
                in_panels(["at"], borders, titles),
                color=palette.IDEAL,
                size=0.3,
            )
        )
        + parts_scale(parts, sheet)
        + scale_x_continuous(
            name="Time since the trial's first start (s)",
            labels=tick_labels,
            expand=(0, 0, 0.02, 0),
        )
        + scale_y_continuous(
            name="Worker, by node",
            breaks=list(ticks),
            minor_breaks=[],
            labels=list(ticks.values()),
            expand=(0, 0.3),
        )
    )
    return plot


class _Lanes(NamedTuple):
    """The workers of a trial, sorted by node: those of one stand together."""

    nodes: list[tuple[str, int]]
    """Node and lane of each row, from the top."""

    @classmethod
    def of(cls, pieces: pl.DataFrame) -> _Lanes:
        first = pieces.group_by("lane", maintain_order=True).first()
        nodes = first["node"].fill_null("").to_list()
        return cls(sorted(zip(nodes, first["lane"].to_list(), strict=True)))

    @property
    def row(self) -> dict[int, int]:
        return {lane: place for place, (_, lane) in enumerate(self.nodes)}

    @property
    def spans(self) -> list[tuple[str, int, int]]:
        """Each node with its first row and how many it has."""
        found, first = [], 0
        for node, own in groupby(self.nodes, key=lambda pair: pair[0]):
            count = len(list(own))
            found.append((node, first, count))
            first += count
        return found

    @property
    def borders(self) -> list[float]:
        """Where one node ends and the next begins."""
        return [first - 0.5 for _, first, _ in self.spans[1:]]

    def rows_a_label(self, sheet: Sheet) -> float:
        """How many rows are as high as a label, 1 or more."""
        rows_mm = 0.85 * (sheet.panel_height_mm or PANEL_MM[sheet.width_mm])
        return max(1.0, LINE_MM[SMALL_POINTS] * len(self.nodes) / rows_mm)

    def labels(self, sheet: Sheet) -> Iterator[tuple[float, str]]:
        """Names of nodes in the middle of their rows, as far as there is room for them."""
        each = self.rows_a_label(sheet)
        free = -each
        for node, first, count in self.spans:
            middle = first + (count - 1) / 2
            # Below the last row stand the labels of the other axis.
            if middle - free >= each and len(self.nodes) - middle >= 0.7 * each:
                free = middle
                yield middle, _short(node)


def _shown(results: Results, trials: Sequence[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Name and pieces of each trial to be drawn."""
    if results.timeline is None:
        return
    for curve in curves(results.configurations):
        own = curve.select(results.timeline)
        for trial in trials or _middle(curve, results.trials, set(own["trial"])):
            pieces = own.filter(own["trial"] == trial)
            if not pieces.is_empty():
                yield curve.name, pieces


def _middle(curve: Curve, trials: pl.DataFrame, known: set[str]) -> list[str]:
    """The trial of median wall time at the largest N of which there is a timeline."""
    timed = curve.select(trials).filter("valid")
    timed = timed.filter(timed["trial"].is_in(known))
    if timed.is_empty():
        return []
    largest = timed.filter(timed["workers"] == timed["workers"].max())
    return [str(middle_trials(largest)["trial"][0])]


def _short(node: str) -> str:
    """Name a node without its domain, and by its end, where nodes differ, if that is long."""
    host = node.split(".", maxsplit=1)[0]
    return host if len(host) <= LONGEST_NAME else f"…{host[1 - LONGEST_NAME :]}"


def _height_mm(width_mm: Width, lanes: int) -> float:
    """Height of a panel: a few workers need less than others."""
    return min(PANEL_MM[width_mm], 14 + 5 * lanes)


def _rectangles(
    pieces: pl.DataFrame, lanes: _Lanes, top: int, most: int
) -> Iterator[dict[str, Any]]:
    half = 0.5 if most > MANY_LANES else THICK / 2
    rows = lanes.row
    for part, lane, start_s, wall_s in pieces.select(
        "part", "lane", "start_s", "wall_s"
    ).iter_rows():
        at = top - rows[lane]
        yield {
            "part": part,
            "left": start_s,
            "right": start_s + wall_s,
            "bottom": at - half,
            "top": at + half,
        }
