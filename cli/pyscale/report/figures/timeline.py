"""What every worker of a trial did when in print, and who waited for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import plotnine as p9

from pyscale.report import palette
from pyscale.report.figures.axes import parts_scale, tick_labels
from pyscale.report.figures.house import (
    LETTER_MM,
    LINE_MM,
    PANEL_MM,
    SMALL_POINTS,
    NothingToDrawError,
    Sheet,
    drawn,
    figure,
    in_panels,
)
from pyscale.report.plots.plot import Row, Width
from pyscale.report.plots.timeline import NAMES, NOTE, middle_rows, timeline_rows
from pyscale.report.results import Results

Span = tuple[str, int, int]
"""A node, with its first lane and how many it has: lanes of one stand together."""
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


def timeline(results: Results, trials: Sequence[str] = (), *, width_mm: Width = 180) -> p9.ggplot:
    """Draw trials in time: a row for each worker, by node, in the colours of the phases.

    Parameters
    ----------
    results : Results
    trials : sequence of str
        Which; without any, of each curve that of median wall time at the largest N.
    width_mm : {88, 180}
        One column of a journal, or two.
    """
    about = results.about_workers()
    largest = {row["curve"]: row["trial"] for row in middle_rows(about)}
    shown = timeline_rows(about, trials or largest.values())
    absent = set(trials).difference(row["trial"] for row in shown)
    if absent or not shown:
        raise NothingToDrawError(
            f"there is no timeline of {', '.join(sorted(absent)) or results.context.title}: it "
            "needs trials of a run of pyscale whose phases were recorded"
        )
    most = max(len(row["lanes"]) for row in shown)
    letters = max(len(_short(node)) for row in shown for node in row["nodes"])
    # A few workers need less height than others.
    height_mm = min(PANEL_MM[width_mm], 14 + 5 * most)
    sheet = Sheet(len(shown), width_mm, height_mm, BESIDE_MM + LETTER_MM * letters)
    titles = [
        sheet.title(row["curve"], f"N = {row['workers']}, repeat {row['repeat']}") for row in shown
    ]
    rows: list[Row] = []
    ticks: dict[float, str] = {}
    borders: list[Row] = []
    for place, (row, title) in enumerate(zip(shown, titles, strict=True)):
        top = -APART * place
        rows += [piece | {"panel": title} for piece in _rectangles(row, top, most)]
        spans = _spans(row["nodes"])
        labels = dict(_labels(spans, height_mm))
        ticks |= {top - at: label for at, label in labels.items()}
        if len(labels) == len(spans):
            borders += [{"panel": title, "at": top - first + 0.5} for _, first, _ in spans[1:]]
    found = {row["part"] for row in rows}
    named = zip(NAMES, palette.PARTS, strict=True)
    parts = {name: f"part-{part}" for name, part in named if name in found}
    lines = in_panels(["at"], borders, titles)
    plot: p9.ggplot = (
        figure(
            sheet,
            titles,
            NOTE,
            *results.context.timed,
            *([] if trials else ["Trials of median wall time at the largest N."]),
            scales="free",
            legend=list(parts),
        )
        + p9.geom_rect(
            p9.aes(xmin="left", xmax="right", ymin="bottom", ymax="top", fill="part"),
            in_panels(["part", "left", "right", "bottom", "top"], rows, titles),
            raster=len(rows) > MANY_PIECES,
        )
        + drawn(p9.geom_hline(p9.aes(yintercept="at"), lines, color=palette.IDEAL, size=0.3))
        + parts_scale(parts, sheet)
        + p9.scale_x_continuous(
            name="Time since the trial's first start (s)",
            labels=tick_labels,
            expand=(0, 0, 0.02, 0),
        )
        + p9.scale_y_continuous(
            name="Worker, by node",
            breaks=list(ticks),
            minor_breaks=[],
            labels=list(ticks.values()),
            expand=(0, 0.3),
        )
    )
    return plot


def _spans(nodes: Sequence[str]) -> list[Span]:
    found: list[Span] = []
    for place, node in enumerate(nodes):
        if found and found[-1][0] == node:
            found[-1] = (node, found[-1][1], found[-1][2] + 1)
        else:
            found.append((node, place, 1))
    return found


def _labels(spans: Sequence[Span], height_mm: float) -> Iterator[tuple[float, str]]:
    """Names of nodes in the middle of their lanes, as far as there is room for them."""
    _, first, count = spans[-1]
    lanes = first + count
    # How many lanes are as high as a label.
    each = max(1.0, LINE_MM[SMALL_POINTS] * lanes / (0.85 * height_mm))
    free = -each
    for node, first, count in spans:
        middle = first + (count - 1) / 2
        # Below the last lane stand the labels of the other axis.
        if middle - free >= each and lanes - middle >= 0.7 * each:
            free = middle
            yield middle, _short(node)


def _short(node: str) -> str:
    """Name a node without its domain, and by its end, where nodes differ, if that is long."""
    host = node.split(".", maxsplit=1)[0]
    return host if len(host) <= LONGEST_NAME else f"…{host[1 - LONGEST_NAME :]}"


def _rectangles(row: Row, top: int, most: int) -> Iterator[dict[str, Any]]:
    half = 0.5 if most > MANY_LANES else THICK / 2
    pieces = zip(row["part"], row["lane"], row["start_s"], row["wall_s"], strict=True)
    for part, lane, start_s, wall_s in pieces:
        yield {
            "part": NAMES[part],
            "left": start_s,
            "right": start_s + wall_s,
            "bottom": top - lane - half,
            "top": top - lane + half,
        }
