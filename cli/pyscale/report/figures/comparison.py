"""Two runs, or two tables of wall times, configuration by configuration."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pyscale.analysis.comparison import MARGIN
from pyscale.analysis.intervals import repeats_needed
from pyscale.report.comparison import stage_name
from pyscale.report.figures.axes import log_breaks, tick_labels, workers_axis
from pyscale.report.figures.house import (
    INVALID,
    NothingToDrawError,
    Sheet,
    Width,
    drawn,
    figure,
    in_panels,
)
from pyscale.report.palette import CURVES, IDEAL, SINGLE

if TYPE_CHECKING:
    from plotnine import ggplot


class Verdict(NamedTuple):
    """How a verdict is shown."""

    shape: str
    color: str
    fill: str


VERDICTS = {
    "worse": Verdict("^", CURVES[1], CURVES[1]),
    "slower": Verdict("^", CURVES[1], "none"),
    "same": Verdict("s", CURVES[0], CURVES[0]),
    "faster": Verdict("v", CURVES[2], "none"),
    "better": Verdict("v", CURVES[2], CURVES[2]),
    "not enough data": Verdict("o", SINGLE, "none"),
}
"""Shapes tell them apart without any colour."""
COLUMNS = ("workers", "ratio", "ratio_low", "ratio_high", "verdict")


def comparison(table: pl.DataFrame, *, width_mm: Width = 180) -> ggplot:
    """Draw the wall times of one run over those of another, with the verdict of each.

    Parameters
    ----------
    table : polars.DataFrame
        As `pyscale.analysis.comparison.comparison` gives it.
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where no configuration was timed in both.
    """
    from plotnine import (
        aes,
        annotate,
        geom_errorbar,
        geom_hline,
        geom_point,
        guide_legend,
        scale_color_manual,
        scale_fill_manual,
        scale_shape_manual,
        scale_y_log10,
    )

    found = [row for row in table.to_dicts() if row["ratio"] is not None]
    if not found:
        raise NothingToDrawError(
            "there is no figure of the comparison: no configuration was timed in both, so compare "
            "runs that have a stage and an N in common"
        )
    names = list(dict.fromkeys(stage_name(row, found) for row in found))
    sheet = Sheet(len(names), width_mm)
    titles = {name: sheet.title(name) for name in names}
    rows: list[dict[str, Any]] = [row | {"panel": titles[stage_name(row, found)]} for row in found]
    invalid = [row for row in rows if row["base_invalid"] or row["new_invalid"]]
    counts = sorted({row["workers"] for row in found})
    octaves = max(1.0, math.log2(counts[-1] / counts[0]))
    beyond = 2 ** (0.06 * octaves)
    verdicts = [verdict for verdict in VERDICTS if verdict in {row["verdict"] for row in found}]
    marks: dict[str, Any] = {"limits": verdicts}
    marks["guide"] = guide_legend(ncol=sheet.legend_columns(verdicts), byrow=True)
    marked = in_panels(COLUMNS, rows, list(titles.values()))
    crossed = in_panels(COLUMNS, invalid, list(titles.values()))
    plot: ggplot = (
        figure(
            sheet,
            list(titles.values()),
            "Marks: ratios of wall times, new over base (Hodges-Lehmann), with the verdict; above "
            "1 the new one is slower.",
            "Bars: intervals of which each end is a 95 % bound; none is drawn where one of the two "
            f"had fewer than {repeats_needed()} trials.",
            f"Grey band: {1 / (1 + MARGIN):.3f} to {1 + MARGIN:g}, a difference too small to "
            "matter.",
            *(
                [f"Hollow triangle: perhaps by less than {100 * MARGIN:g} %."]
                if {"slower", "faster"} & {*verdicts}
                else []
            ),
            *(["Cross: the output of one of them is not its baseline's."] if invalid else []),
            legend=verdicts,
        )
        + annotate(
            "rect",
            xmin=counts[0] / beyond,
            xmax=counts[-1] * beyond,
            ymin=1 / (1 + MARGIN),
            ymax=1 + MARGIN,
            fill="#D9D9D9",
        )
        + geom_hline(yintercept=1, color=IDEAL, size=0.5)
        + drawn(
            geom_errorbar(
                aes("workers", ymin="ratio_low", ymax="ratio_high", color="verdict"),
                marked.dropna(subset=["ratio_low", "ratio_high"]),
                size=0.5,
                width=0.03 * octaves,
                show_legend=False,
            )
        )
        + geom_point(
            aes("workers", "ratio", color="verdict", fill="verdict", shape="verdict"),
            marked,
            size=1.9,
            stroke=0.6,
        )
        + drawn(geom_point(aes("workers", "ratio"), crossed, **(INVALID | {"size": 3.4})))
        + scale_color_manual([VERDICTS[name].color for name in verdicts], **marks)
        + scale_fill_manual([VERDICTS[name].fill for name in verdicts], **marks)
        + scale_shape_manual([VERDICTS[name].shape for name in verdicts], **marks)
        + workers_axis(counts, sheet)
        + scale_y_log10(
            name="Wall time, new / base", breaks=_breaks, minor_breaks=[], labels=tick_labels
        )
    )
    return plot


def _breaks(limits: tuple[float, float]) -> list[float]:
    return sorted({1.0, *log_breaks(limits)})
