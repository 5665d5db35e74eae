"""The figure of a reconstruction over ranks: what each component gains, and what it takes."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pyscale.report.figures.axes import tick_labels, workers_axis
from pyscale.report.figures.dots import Looks
from pyscale.report.figures.house import (
    IDEAL_LINE,
    NothingToDrawError,
    Sheet,
    Width,
    drawn,
    figure,
    in_panels,
)
from pyscale.report.figures.sizes import NO_INTERVAL
from pyscale.report.plots.reconstructrows import (
    DRAWN,
    Row,
    panels_of,
    share_rows,
    speedup_rows,
)
from pyscale.report.reconstruct.words import NAMES
from pyscale.report.results import Results

if TYPE_CHECKING:
    import pandas as pd
    from plotnine import ggplot

BAR = 0.72
"""Width of a bar, of the distance between two."""
ASIDE = 0.08
"""The same between the marks of two components at one N."""
SPEEDUP, SHARE = "speedup over N0", "share of ranks' time"
LINE_POINTS = 32
"""Of an ideal line, which is none on an axis of which one alone is logarithmic."""


@dataclass(frozen=True)
class InPairs(Sheet):
    """Panels two by two: what a reconstruction gains, and beside it what it takes."""

    @property
    def columns(self) -> int:
        """Panels beside each other."""
        return 2


def components(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the speedup of each component over ranks, and shares of an iteration beside it.

    Parameters
    ----------
    results : Results
        With reconstruction over ranks.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where nothing was reconstructed, or no trial of it counts.
    """
    from plotnine import (
        aes,
        expand_limits,
        geom_col,
        geom_errorbar,
        geom_line,
        geom_point,
        labs,
        position_stack,
        scale_fill_manual,
        scale_y_continuous,
    )

    rows, shares = speedup_rows(results), share_rows(results)
    if not rows:
        raise NothingToDrawError(
            f"there is no figure of components in {results.context.title}: it needs a run of the "
            "stage reconstruct of which a trial counts"
        )
    names = panels_of(rows)
    sheet = InPairs(2 * len(names), width_mm)
    titles = {(name, what): sheet.title(name, what) for name in names for what in (SPEEDUP, SHARE)}
    panels = list(titles.values())
    counts = sorted({row["workers"] for row in rows})
    known = [NAMES[name] for name in DRAWN]
    looks = Looks.of([*rows, *shares], "line", known)
    tints = dict(zip(looks.names, looks.colours, strict=True))
    parts = [name for name in known if any(row["line"] == name for row in shares)]
    marks = in_panels(
        ["line", "at", "speedup", "speedup_low", "speedup_high"],
        [
            {**row, "panel": titles[row["curve"], SPEEDUP], "at": _aside(row, counts)}
            for row in rows
        ],
        panels,
    )
    bars = _bars([row | {"panel": titles[row["curve"], SHARE]} for row in shares], panels, parts)
    plot: ggplot = (
        figure(
            sheet,
            panels,
            "Marks: ratios of median times of the slowest rank, side by side at each N; dashed: "
            "ideal. N0 are the fewest ranks that ran; what one rank alone does not do has no "
            "speedup over it.",
            f"Lines through marks: 95 % intervals by bootstrap ({NO_INTERVAL}).",
            "Stacked in the same colours, from the axis in the order of the legend: shares of the "
            "time of all ranks in iterations; what is missing up to 1 is in no component.",
            *results.context.timed,
            scales="free_y",
            legend=looks.legend,
        )
        + drawn(
            geom_line(aes("workers", "ideal", group="panel"), _ideal(rows, titles), **IDEAL_LINE),
            geom_col(
                aes("workers", "share", fill="line"),
                bars,
                position=position_stack(reverse=True),
                width=BAR * _step(counts),
                color="white",
                size=0.15,
                show_legend=False,
            ),
            geom_errorbar(
                aes("at", ymin="speedup_low", ymax="speedup_high", color="line"),
                marks.dropna(subset=["speedup_low", "speedup_high"]),
                size=0.5,
                width=0.03,
                show_legend=False,
            ),
            geom_point(aes("at", "speedup", color="line", shape="line"), marks, size=1.9),
        )
        + looks.scales(sheet)
        + scale_fill_manual(values=[tints[name] for name in parts], limits=parts, guide=None)
        + workers_axis(counts, sheet, "Ranks N")
        + scale_y_continuous(labels=tick_labels)
        + expand_limits(y=0)
        + labs(y="")
    )
    return plot


def _aside(row: Row, counts: Sequence[int]) -> float:
    """Where the mark of a component stands, beside its number of ranks."""
    return float(row["workers"] * 2 ** (ASIDE * _step(counts) * row["aside"]))


def _bars(rows: Sequence[Row], panels: Sequence[str], parts: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    table = in_panels(["line", "workers", "share"], rows, panels)
    return table.assign(line=table["line"].astype(pd.CategoricalDtype(list(parts))))


def _ideal(rows: Sequence[Row], titles: dict[tuple[str, str], str]) -> pd.DataFrame:
    """Points of the ideal of each panel, so close that they make a curve."""
    points = []
    for name in panels_of(list(rows)):
        own = [row for row in rows if row["curve"] == name]
        low, high = (choose(row["workers"] for row in own) for choose in (min, max))
        base = low / min(row["ideal"] for row in own)
        steps = range(LINE_POINTS + 1 if high > low else 0)
        points += [
            {"panel": titles[name, SPEEDUP], "workers": at, "ideal": at / base}
            for at in (low * (high / low) ** (step / LINE_POINTS) for step in steps)
        ]
    return in_panels(["workers", "ideal"], points, list(titles.values()))


def _step(counts: Sequence[int]) -> float:
    """Octaves between the two numbers of ranks that are closest."""
    return min((math.log2(after / before) for before, after in pairwise(counts)), default=1.0)
