"""Figures for papers, by plotnine: a function each, which reads columns of the report's tables.

Each raises `NothingToDrawError` where there is nothing of it. The same numbers give the same bytes.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import plotnine as p9

from pyscale.analysis.grid.findings import GridFindings
from pyscale.errors import UserError
from pyscale.report.curves import Curve, timed_curves
from pyscale.report.dictionary import labels
from pyscale.report.drawnrows import (
    COMPONENT_NAMES,
    LABELS,
    Row,
    component_rows,
    configuration_rows,
    lines_of,
    loader_rows,
    loss_rows,
    point_rows,
    ratio_rows,
    trial_rows,
)
from pyscale.report.grid.sweep import Sweep, ratio_title, sweeps
from pyscale.report.palette import CURVES, IDEAL, INVALID, PARTS, SINGLE
from pyscale.report.results import Results
from pyscale.wording import phase
from pyscale_stages.atomic import atomic_path, write_atomically

Scales = Literal["fixed", "free_y"]
CAPTIONS = "figure_captions.md"
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"pil_kwargs": {"compress_level": 3}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
"""What is written, and without the field of each that would hold the date."""
WIDTH_MM, PANEL_MM, LETTER_MM, LINE_MM, MM_PER_INCH = 180, 50, 1.6, 4.5, 25.4
"""Two columns of a journal, the height of a panel, and the room of a letter and of a line."""
POINTS, SMALL_POINTS = 8, 7
MOST_TICKS = 10
IDEAL_LINE: dict[str, Any] = {"linetype": "dashed", "color": IDEAL, "size": 0.5}
CROSS: dict[str, Any] = {"color": INVALID, "shape": "x", "size": 2.4, "stroke": 0.9}
MARKS = ("o", "s", "^", "D", "P", "v", "X")
"""As `palette.SHAPES`, in the words of matplotlib."""


class NothingToDrawError(UserError):
    """The results hold nothing of what a figure shows."""


def wall_time(results: Results) -> p9.ggplot:
    """Draw wall times of trials and configurations against N."""
    about = results.about_workers()
    found = timed_curves(about.configurations)
    single: dict[str, Any] = {"color": SINGLE, "size": 0.9, "stroke": 0}
    trials = _table(trial_rows(found, about.trials))
    dots = p9.geom_point(p9.aes("workers", "wall_s"), trials, **single)
    return _over_n(found, "wall_s", "Wall time (s)", dots, scales="free_y")


def speedup(results: Results) -> p9.ggplot:
    """Draw the speedup over the baseline against N."""
    return _over_n(timed_curves(results.about_workers().configurations), "speedup", "Speedup")


def _over_n(
    found: Sequence[Curve], column: str, title: str, *below: Any, scales: Scales = "fixed"
) -> p9.ggplot:
    """Draw a column of the configurations, a panel a curve, from 0 and beside the ideal."""
    table = _table(configuration_rows(found))
    ideal = {
        "speedup": table["workers"] / table["baseline_workers"],
        "wall_s": table["efficiency"] * table["wall_s"],
    }
    return (
        _frame(table, x="Workers N (log scale)", y=title, scales=scales)
        + _line(table.assign(ideal=ideal[column]), "workers", "ideal", **IDEAL_LINE)
        + list(below)
        + _points(table, "workers", column, "curve")
        + _looks([curve.name for curve in found], has_legend=False)
        + _counts(table["workers"])
        + p9.expand_limits(y=0)
    )


def losses(results: Results) -> p9.ggplot:
    """Draw worker-seconds by what the workers did, and those that the baseline needed."""
    about = results.about_workers()
    found = timed_curves(about.configurations)
    table = _table(loss_rows(found, about.losses))
    whole = _table(configuration_rows(found))
    whole = whole[whole["curve"].isin(table["curve"])]
    counts = sorted(whole["workers"].unique())
    place = {count: at for at, count in enumerate(counts)}
    table = table.assign(at=table["workers"].map(place))
    at = whole["workers"].map(place)
    whole = whole.assign(at=at, left=at - 0.5, right=at + 0.5)
    whole = whole.assign(needed_s=whole["efficiency"] * whole["worker_seconds"])
    colours = {phase(part): colour for part, colour in PARTS.items()}
    parts = [name for name in colours if name in set(table["part"])]
    crosses = whole[whole["invalid"].astype(bool)]
    across = p9.aes("left", "needed_s", xend="right", yend="needed_s")
    bars: dict[str, Any] = {"color": "white", "width": 0.72, "size": 0.15}
    return (
        _frame(table, x="Workers N", y="Worker-seconds", legend=parts, scales="free_y")
        + p9.geom_col(
            p9.aes("at", "worker_seconds", fill="part"),
            table.assign(part=pd.Categorical(table["part"], parts)),
            # The first part stands on the axis.
            position=p9.position_stack(reverse=True),
            **bars,
        )
        + p9.geom_segment(across, whole, **IDEAL_LINE)
        + [p9.geom_point(p9.aes("at", "worker_seconds"), crosses, **CROSS)][: len(crosses)]
        + p9.scale_fill_manual([colours[part] for part in parts], limits=parts, guide=_guide(parts))
        + p9.scale_x_continuous(breaks=list(place.values()), minor_breaks=[], labels=counts)
    )


def size_sweep(results: Results) -> p9.ggplot:
    """Draw the time of a call against the size of an image, a line a device."""
    found = sweeps(results.every(GridFindings))
    rows = [row for sweep in found for row in point_rows(sweep)]
    title = "Time of a call (s, log scale)"
    return _over_size(found, rows, "call_s", title) + p9.scale_y_log10()


def size_speedup(results: Results) -> p9.ggplot:
    """Draw how many times as fast a device is as another, against the size of an image."""
    found = sweeps(results.every(GridFindings))
    title = ratio_title(line.base for sweep in found for line in sweep.compared)
    plot = _over_size(found, ratio_rows(found), "ratio", title)
    return plot + p9.geom_hline(yintercept=1, **IDEAL_LINE) + p9.expand_limits(y=0)


def _over_size(found: Sequence[Sweep], rows: list[Row], column: str, title: str) -> p9.ggplot:
    table, lines = _table(rows), lines_of(found)
    return (
        _frame(table, x="Side of the image (px, log scale)", y=title, legend=lines)
        + _points(table, "length_px", column, "line")
        + _looks(lines)
        + _counts(table["length_px"])
    )


def components(results: Results) -> p9.ggplot:
    """Draw the speedup of each component of a reconstruction against ranks."""
    table = _table([row for row in component_rows(results) if row["speedup"]])
    ideal = table.assign(ideal=table["workers"] / table["baseline_workers"])
    once = ideal.drop_duplicates(["curve", "workers"])
    lines = COMPONENT_NAMES
    return (
        _frame(table, x="Ranks N (log scale)", y="Speedup over N0 (log scale)", legend=lines)
        + _line(once, "workers", "ideal", **IDEAL_LINE)
        + _points(table, "workers", "speedup", "part")
        + _looks(lines)
        + _counts(table["workers"])
        + p9.scale_y_continuous(trans="log2", labels=lambda ticks: [f"{at:g}" for at in ticks])
    )


def loader_pareto(results: Results) -> p9.ggplot:
    """Draw configurations of a loader by patches a second and by diversity, with the front."""
    table = _table(loader_rows(results))
    lines = list(table["line"].unique())
    best = table[table["on_front"].astype(bool)].sort_values("effective_slides")
    at = p9.aes("effective_slides", "patches_per_s", label="label")
    labels: dict[str, Any] = {"size": SMALL_POINTS, "ha": "left", "va": "bottom", "angle": 45}
    return (
        _frame(table, x="Effective slides of all ranks", y="Patches/s, in step", legend=lines)
        + _line(best, "effective_slides", "patches_per_s", p9.geom_step, direction="vh")
        + p9.geom_text(at, best, **labels)
        + _points(table, "effective_slides", "patches_per_s", "line", is_joined=False)
        + _looks(lines)
        # Room for labels.
        + p9.scale_x_continuous(expand=(0.03, 0, 0.2, 0))
        + p9.scale_y_continuous(expand=(0.03, 0, 0.2, 0))
        + p9.expand_limits(x=0, y=0)
    )


def _table(rows: list[Row]) -> pd.DataFrame:
    if not rows:
        raise NothingToDrawError("nothing was measured of what this figure shows")
    table = pd.DataFrame(rows)
    return table.assign(curve=pd.Categorical(table["curve"], table["curve"].unique()))


def _frame(
    table: pd.DataFrame, *, x: str, y: str, legend: Sequence[str] = (), scales: Scales = "fixed"
) -> p9.ggplot:
    """Begin a figure in the house style, a panel a value of `curve`, with room for the legend."""
    panels = list(table["curve"].unique())
    columns = min(2 if len(panels) in {2, 4} else 3, len(panels))
    widest = int((WIDTH_MM / columns - 14) / LETTER_MM)
    lines = max(len(textwrap.wrap(name, widest)) for name in panels)
    rows_of_legend = math.ceil(len(legend) / _across(legend)) if legend else 0
    height_mm = math.ceil(len(panels) / columns) * (PANEL_MM + LINE_MM * lines)
    height_mm += LINE_MM * (rows_of_legend + 4)
    small = p9.element_text(size=SMALL_POINTS)
    begun: Any = p9.ggplot()

    def wrapped(name: str) -> str:
        return textwrap.fill(name, widest)

    label: Any = wrapped
    return (
        begun
        + p9.facet_wrap(
            "curve",
            ncol=columns,
            scales=scales,
            labeller=label,
        )
        + p9.labs(x=x, y=y)
        + p9.theme_minimal(base_size=POINTS)
        + p9.theme(
            axis_text=small,
            dpi=300,
            figure_size=(WIDTH_MM / MM_PER_INCH, height_mm / MM_PER_INCH),
            legend_key_size=8,
            legend_position="bottom",
            legend_text=small,
            legend_title=p9.element_blank(),
            panel_grid_minor=p9.element_blank(),
            strip_text=p9.element_text(size=POINTS, ha="left", ma="left", va="bottom"),
        )
    )


def _points(
    table: pd.DataFrame, x: str, y: str, series: str, *, is_joined: bool = True
) -> list[Any]:
    """Points with 95 % intervals, joined by series; a cross for what is invalid."""
    is_invalid = table.get("invalid", pd.Series(False, table.index)).astype(bool)
    valid, invalid = table[~is_invalid], table[is_invalid]
    ends = p9.aes(x, ymin=f"{y}_low", ymax=f"{y}_high", color=series)
    known = valid.dropna(subset=[f"{y}_low"])
    return [
        *(_line(valid, x, y, color=series) if is_joined else ()),
        *([] if known.empty else [p9.geom_linerange(ends, known, size=0.9, alpha=0.6)]),
        p9.geom_point(p9.aes(x, y, color=series, shape=series), valid, size=1.8),
        *([] if invalid.empty else [p9.geom_point(p9.aes(x, y), invalid, **CROSS)]),
    ]


def _line(
    table: pd.DataFrame, x: str, y: str, geom: Callable[..., Any] = p9.geom_line, **look: Any
) -> list[Any]:
    """A line in each panel, or for each value of a column `color`; one point makes none."""
    series = look["color"] if look.get("color") in table else None
    named = {"color": look.pop("color")} if series else {}
    several = table.duplicated(["curve", series] if series else ["curve"], keep=False)
    return [geom(p9.aes(x, y, **named), table[several], **{"size": 0.5} | look)] * any(several)


def _looks(names: Sequence[str], *, has_legend: bool = True) -> list[Any]:
    """Colours and marks of series; a colour that comes again comes with another mark."""
    most = len(CURVES)
    colours = [CURVES[at % most] for at in range(len(names))]
    marks = [MARKS[(at + at // most) % most] for at in range(len(names))]
    return [
        # One guide a scale: a shared one would lose what it was given first.
        p9.scale_color_manual(colours, limits=names, guide=_guide(names) if has_legend else None),
        p9.scale_shape_manual(marks, limits=names, guide=_guide(names) if has_legend else None),
    ]


def _guide(names: Sequence[str]) -> Any:
    return p9.guide_legend(ncol=_across(names), byrow=True)


def _across(names: Sequence[str]) -> int:
    """How many entries of a legend fit beside each other."""
    return max(1, int(WIDTH_MM / (8 + LETTER_MM * max(map(len, names)))))


def _counts(measured: pd.Series[float]) -> p9.scale_x_continuous:
    """Logarithmic axis with a tick at what was measured; labels that would touch are left out."""
    ticks = sorted(measured.unique())
    room = math.log2(ticks[-1] / ticks[0]) / MOST_TICKS
    kept: list[float] = []
    for tick in reversed(ticks):
        if not kept or math.log2(kept[-1] / tick) >= room:
            kept.append(tick)
    labels = [f"{tick:.0f}" for tick in kept]
    # plotnine cannot place minor ticks beside a single major one.
    return p9.scale_x_continuous(trans="log2", breaks=kept, minor_breaks=[], labels=labels)


FIGURES: dict[str, Callable[[Results], p9.ggplot]] = {
    "benchmark_results": wall_time,
    "benchmark_speedup": speedup,
    "benchmark_losses": losses,
    "benchmark_size_sweep": size_sweep,
    "benchmark_size_speedup": size_speedup,
    "benchmark_components": components,
    "benchmark_loader_pareto": loader_pareto,
}
"""Files of a report, and what they show."""


def caption(name: str) -> str:
    """Say what a figure shows, by the name of its file."""
    ends = "bars: their 95 % intervals, none where there are too few trials"
    told: str = labels("figures")[name]
    return told.format(
        medians=f"Points: medians over trials; {ends}",
        ratios=f"Points: ratios of medians over trials; {ends}",
        over_n="Dashed: ideal; cross: invalid.",
        labels=", ".join(LABELS),
    )


def write_figures(folder: Path, results: Results) -> list[Path]:
    """Write what there is as PNG, SVG and PDF, and captions; return the paths.

    Figures of an earlier report that this one has not are removed, or they would tell of another.
    """
    written, captions = [], []
    for name, plot in drawings(results):
        written += save(plot, folder / name)
        captions.append(f"**{name}.** {' '.join([caption(name), *results.context.timed])}\n")
    if captions:
        write_atomically(folder / CAPTIONS, "\n".join(captions))
        written.append(folder / CAPTIONS)
    names = [f"{name}.{suffix}" for name in FIGURES for suffix in FORMATS]
    for path in (folder / name for name in (*names, CAPTIONS)):
        if path not in written:
            path.unlink(missing_ok=True)
    return written


def drawings(results: Results) -> Iterator[tuple[str, p9.ggplot]]:
    """Names of files, and what they show, of the figures that there are."""
    for name, draw in FIGURES.items():
        try:
            yield name, draw(results)
        except NothingToDrawError:
            continue


def save(plot: p9.ggplot, stem: Path) -> list[Path]:
    """Draw once and write every format, with fixed seeds and no date.

    Parameters
    ----------
    plot : plotnine.ggplot
        As the functions of this module give it, perhaps with changes.
    stem : Path
        Path of the files without their endings; its folder is made if absent.

    Returns
    -------
    list of Path
        What was written: PNG at 300 dots per inch, SVG and PDF.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure = plot.draw()
    written = []
    # Type 42 embeds whole letters, which publishers ask for and editors can change.
    settings = plot.theme.rcParams | {"svg.hashsalt": "pyscale", "pdf.fonttype": 42}
    with mpl.rc_context(settings):
        for suffix, how in FORMATS.items():
            final = stem.with_name(f"{stem.name}.{suffix}")
            with atomic_path(final) as temporary:
                figure.savefig(temporary, format=suffix, **how)
            # Its parts have their places now, the same ones in every format.
            figure.set_layout_engine(None)
            written.append(final)
    # Else it is kept, as for a window that shows it.
    plt.close(figure)
    return written
