"""Wall time and speedup against the number of workers, in print quality."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pyscale.analysis.intervals import repeats_needed
from pyscale.report import scalingkind
from pyscale.report.curves import Curve, curves
from pyscale.report.figuretables import ideal, medians, singles
from pyscale_stages.atomic import atomic_path

if TYPE_CHECKING:
    import polars as pl
    from plotnine import ggplot

RESULTS, SPEEDUP = "benchmark_results", "benchmark_speedup"
FORMATS: dict[str, dict[str, None]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""What is written, and the field of each that would hold the date."""
# Okabe and Ito's blue: told from grey by any kind of colour vision, and in print.
MEASURED, SINGLE, IDEAL = "#0072B2", "#8C8C8C", "#404040"
# Their vermilion, and a cross where all else is a dot: told apart without any colour.
INVALID: dict[str, Any] = {"color": "#D55E00", "shape": "x", "size": 2.4, "stroke": 0.9}
WIDTH_MM, PANEL_HEIGHT_MM, FRAME_MM = 180, 58, 24
POINTS, DPI, MM_PER_INCH = 8, 300, 25.4
NO_INTERVAL = f"none is drawn where fewer than {repeats_needed()} trials were timed."


def write_figures(folder: Path, configurations: pl.DataFrame, trials: pl.DataFrame) -> list[Path]:
    """Write both figures in every format; none where no trial was timed.

    Parameters
    ----------
    folder : Path
    configurations : polars.DataFrame
        As `pyscale.analysis.scaling.configurations` gives it.
    trials : polars.DataFrame
        The trials behind it; each timed one is a point.
    """
    found = [curve for curve in curves(configurations) if curve.timed]
    if not found:
        return []
    written = []
    for name, plot in ((RESULTS, results_plot(found, trials)), (SPEEDUP, speedup_plot(found))):
        written += _save(plot, folder / name, panels=len(found))
    return written


def results_plot(found: list[Curve], trials: pl.DataFrame) -> ggplot:
    """Draw the wall time of every trial and configuration, both axes logarithmic.

    No line joins the points: between two worker counts nothing was measured.
    """
    from plotnine import aes, geom_line, geom_point, labs, scale_y_log10

    plot: ggplot = (
        _frame(found, scales="free_y")
        + geom_line(aes("workers", "ideal_s"), ideal(found), linetype="dashed", color=IDEAL)
        + geom_point(
            aes("workers", "wall_s"), singles(found, trials), color=SINGLE, size=1, stroke=0
        )
        + _configurations(found, "wall_s")
        + scale_y_log10(breaks=log_breaks, minor_breaks=[], labels=_labels)
        + labs(
            y="Wall time (s)",
            caption="Blue: median; grey, set to the left: single trials; dashed: ideal scaling "
            "of the base case.\n"
            f"Bars: 95 % intervals of the median by order statistics; {NO_INTERVAL}"
            f"{_crosses(found)}",
        )
    )
    return plot


def speedup_plot(found: list[Curve]) -> ggplot:
    """Draw the speedup over each curve's base case, whose wall time its panel names."""
    from plotnine import aes, geom_line, labs, scale_y_continuous

    plot: ggplot = (
        _frame(found, scales="fixed")
        + geom_line(aes("workers", "ideal_speedup"), ideal(found), linetype="dashed", color=IDEAL)
        + _configurations(found, "speedup")
        + scale_y_continuous(trans="log2", breaks=_power_breaks, minor_breaks=[], labels=_labels)
        + labs(
            y=scalingkind.speedup_title(found),
            caption="Blue: ratio of median wall times; dashed: ideal.\n"
            f"Bars: 95 % intervals by bootstrap; {NO_INTERVAL}{_crosses(found)}{_scaled(found)}",
        )
    )
    return plot


def _configurations(found: list[Curve], value: str) -> Any:
    """Points of all configurations with their intervals; a layer without rows draws nothing."""
    from plotnine import aes, geom_linerange, geom_point

    low, high = f"{value}_low", f"{value}_high"
    valid = medians(found, invalid=False)
    with_interval = valid.dropna(subset=[low, high])
    return [
        geom_linerange(
            aes("workers", ymin=low, ymax=high), with_interval, color=MEASURED, size=0.8
        ),
        geom_point(aes("workers", value), valid, color=MEASURED, size=1.8, stroke=0),
        geom_point(aes("workers", value), medians(found, invalid=True), **INVALID),
    ]


def log_breaks(limits: tuple[float, float]) -> list[float]:
    """Ticks at 1, 2 and 5 times powers of ten inside the limits; every digit if few fit."""
    low, high = limits
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)):
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= 3:
            return inside
    return inside


def _power_breaks(limits: tuple[float, float]) -> list[float]:
    """Ticks at powers of two inside the limits; finer ones if few fit."""
    low, high = (math.log2(limit) for limit in limits)
    powers = range(math.ceil(low), math.floor(high) + 1)
    return [2.0**power for power in powers] if len(powers) >= 3 else log_breaks(limits)


def _labels(ticks: Sequence[float] | Sequence[str]) -> list[str]:
    return [f"{float(tick):g}" for tick in ticks]


def _frame(found: list[Curve], scales: Literal["fixed", "free_y"]) -> ggplot:
    """Panels, the axis of workers and the look that both figures share."""
    from plotnine import (
        element_line,
        element_text,
        facet_wrap,
        ggplot,
        labs,
        scale_x_continuous,
        theme,
        theme_minimal,
    )

    counts = sorted({row["workers"] for curve in found for row in curve.timed})
    plot = (
        ggplot()
        + facet_wrap("panel", ncol=_columns(len(found)), scales=scales)
        + scale_x_continuous(
            trans="log2",
            breaks=counts,
            # plotnine cannot place minor ticks beside a single major one.
            minor_breaks=[],
            labels=[str(n) for n in counts],
            expand=(0.08, 0),
        )
        + labs(x="Workers N")
        + theme_minimal(base_size=POINTS)
        + theme(
            panel_grid_major=element_line(color="#E3E3E3", size=0.4),
            strip_text=element_text(size=POINTS, ha="left", ma="left", linespacing=1.3),
            axis_title=element_text(size=POINTS + 1),
            axis_text=element_text(size=POINTS),
            plot_caption=element_text(size=POINTS - 0.5, ha="left", linespacing=1.4),
            panel_spacing=0.03,
        )
    )
    # plotnine annotates the sum of a plot and a theme as a theme.
    return cast("ggplot", plot)


def _columns(panels: int) -> int:
    return 2 if panels in {2, 4} else min(panels, 3)


def _save(plot: ggplot, stem: Path, *, panels: int) -> list[Path]:
    """Draw once and write every format, with fixed seeds and no date.

    So the same numbers give the same bytes.
    """
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from plotnine import theme

    rows = math.ceil(panels / _columns(panels))
    size_mm = (WIDTH_MM, rows * PANEL_HEIGHT_MM + FRAME_MM)
    size = tuple(side / MM_PER_INCH for side in size_mm)
    sized = cast("ggplot", plot + theme(figure_size=size, dpi=DPI))
    figure = sized.draw()
    written = []
    # Type 42 embeds whole letters, which publishers ask for and editors can change.
    settings = sized.theme.rcParams | {"svg.hashsalt": "pyscale", "pdf.fonttype": 42}
    with mpl.rc_context(settings):
        for suffix, no_date in FORMATS.items():
            final = stem.with_name(f"{stem.name}.{suffix}")
            with atomic_path(final) as temporary:
                figure.savefig(temporary, format=suffix, metadata=no_date)
            # Its parts have their places now, the same ones in every format.
            figure.set_layout_engine(None)
            written.append(final)
    # Else it is kept, as for a window that shows it.
    plt.close(figure)
    return written


def _crosses(found: list[Curve]) -> str:
    """What a cross is, where there is one."""
    if medians(found, invalid=True).empty:
        return ""
    return (
        "\nCross: invalid, with no bar: its output is not the base case's, and a ratio would "
        "compare two different results."
    )


def _scaled(found: list[Curve]) -> str:
    """What a speedup is of, where the work is not the same at every N."""
    told = scalingkind.legend(found)
    return f"\n{told}" if told else ""
