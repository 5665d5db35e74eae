"""Figures for papers, by plotnine: a function each, which reads columns of the report's tables.

Each raises `NothingToDrawError` where there is nothing of it. The same numbers give the same bytes.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import plotnine as p9

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.ranks.components import TOTAL
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.errors import UserError
from pyscale.report.curves import Curve, timed_curves
from pyscale.report.grid.sweep import sweeps
from pyscale.report.palette import CURVES, IDEAL, INVALID, PARTS, SINGLE
from pyscale.report.ranks.images import NAMES, images, timed
from pyscale.report.results import Results
from pyscale.wording import phase
from pyscale_stages.atomic import atomic_path, write_atomically
from pyscale_stages.reconstruction import COMPONENTS

Rows = list[dict[str, Any]]
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
MOST_TICKS, STEPS = 10, 32
IDEAL_LINE: dict[str, Any] = {"linetype": "dashed", "color": IDEAL, "size": 0.5}
CROSS: dict[str, Any] = {"color": INVALID, "shape": "x", "size": 2.4, "stroke": 0.9}
MARKS = ("o", "s", "^", "D", "P", "v", "X")
"""As `palette.SHAPES`, in the words of matplotlib."""
LABELS = ("pool_size", "patches_per_slide", "patches_per_visit", "batch_size")
"""Settings of a loader that label a mark on the front, where they differ."""


class NothingToDrawError(UserError):
    """The results hold nothing of what a figure shows."""


def wall_time(results: Results) -> p9.ggplot:
    """Draw wall times of trials and configurations against N."""
    about = results.about_workers()
    found = timed_curves(about.configurations)
    trials = [
        row | {"panel": curve.name}
        for curve in found
        for row in curve.select(about.trials).filter("valid").to_dicts()
    ]
    single: dict[str, Any] = {"color": SINGLE, "size": 0.9, "stroke": 0}
    dots = p9.geom_point(p9.aes("workers", "wall_s"), _table(trials, found), **single)
    return _over_n(found, "wall_s", "Wall time (s)", dots, scales="free_y")


def speedup(results: Results) -> p9.ggplot:
    """Draw the speedup over the baseline against N."""
    found = timed_curves(results.about_workers().configurations)
    return _over_n(found, "speedup", "Speedup")


def _over_n(
    found: Sequence[Curve], column: str, title: str, *below: Any, scales: Scales = "fixed"
) -> p9.ggplot:
    """Draw a column of the configurations, a panel a curve, from 0 and beside the ideal."""
    rows = [row | {"panel": curve.name} for curve in found for row in curve.timed]
    table = _table([row for row in rows if row[column] is not None], found)
    ideal = _table([row for curve in found for row in _ideal(curve)], found)
    return (
        _frame(table, x="Workers N (log scale)", y=title, scales=scales)
        + _line(ideal, "workers", column, **IDEAL_LINE)
        + list(below)
        + _points(table, "workers", column, "panel")
        + _looks([curve.name for curve in found], has_legend=False)
        + _counts(rows, "workers")
        + p9.expand_limits(y=0)
    )


def _ideal(curve: Curve) -> Rows:
    """The baseline's work, or what it grew to, divided evenly."""
    base, last = curve.timed[0], curve.timed[-1]
    at = [(row["workers"], row["growth"]) for row in curve.timed]
    if all(growth == 1 for _, growth in at):
        # A hyperbola, which points close together draw.
        more = last["workers"] / base["workers"]
        at = [(base["workers"] * more ** (step / STEPS), 1.0) for step in range(STEPS + 1)]
    return [
        {"panel": curve.name, "workers": n, "speedup": n / base["workers"]}
        | {"wall_s": growth * base["worker_seconds"] / n}
        for n, growth in at
    ]


def losses(results: Results) -> p9.ggplot:
    """Draw worker-seconds by what the workers did, and those that the baseline needed."""
    about = results.about_workers()
    found = timed_curves(about.configurations)
    counts = sorted({row["workers"] for curve in found for row in curve.timed})
    place = {count: at for at, count in enumerate(counts)}
    rows = [
        row | {"panel": curve.name, "at": place[row["workers"]], "part": phase(row["part"])}
        for curve in found
        for row in curve.select(about.losses).to_dicts()
        if row["worker_seconds"] > 0
    ]
    colours = {phase(part): colour for part, colour in PARTS.items()}
    seen = {row["part"] for row in rows}
    parts = [name for name in colours if name in seen]
    table = _table(rows, found)
    needed = [
        {"panel": curve.name, "left": at - 0.5, "right": at + 0.5}
        | {"needed_s": row["growth"] * curve.timed[0]["worker_seconds"]}
        | {"at": at, "took_s": row["worker_seconds"], "invalid": row["invalid"]}
        for curve in found
        if any(row["panel"] == curve.name for row in rows)
        for row in curve.timed
        for at in (place[row["workers"]],)
    ]
    whole = _table(needed, found)
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
        + [p9.geom_point(p9.aes("at", "took_s"), crosses, **CROSS)][: len(crosses)]
        + p9.scale_fill_manual([colours[part] for part in parts], limits=parts, guide=_guide(parts))
        + p9.scale_x_continuous(breaks=list(place.values()), minor_breaks=[], labels=list(place))
    )


def size_sweep(results: Results) -> p9.ggplot:
    """Draw the time of a call against the size of an image, a line a device."""
    rows = [
        row
        | {"panel": sweep.name, "line": line.name}
        | {f"call_s{end}": row[f"{sweep.measure}_s{end}"] for end in ("", "_low", "_high")}
        for sweep in sweeps(results.every(GridFindings))
        for line in sweep.lines
        for row in line.timed(sweep.measure)
    ]
    title = "Time of a call (s, log scale)"
    return _over_size(results, rows, "call_s", title) + p9.scale_y_log10()


def size_speedup(results: Results) -> p9.ggplot:
    """Draw how many times as fast a device is as another, against the size of an image."""
    rows = [
        row | {"panel": sweep.name, "line": line.name}
        for sweep in sweeps(results.every(GridFindings))
        for line in sweep.compared
        for row in line.ratios(sweep.measure)
    ]
    bases = ", ".join(dict.fromkeys(str(row["base"]) for row in rows))
    plot = _over_size(results, rows, "ratio", f"Times as fast as {bases}")
    return plot + p9.geom_hline(yintercept=1, **IDEAL_LINE) + p9.expand_limits(y=0)


def _over_size(results: Results, rows: Rows, column: str, title: str) -> p9.ggplot:
    found = sweeps(results.every(GridFindings))
    # Of any sweep, so that each has one colour everywhere.
    lines = list(dict.fromkeys(line.name for sweep in found for line in sweep.lines))
    table = _table(rows, found)
    return (
        _frame(table, x="Side of the image (px, log scale)", y=title, legend=lines)
        + _points(table, "length_px", column, "line")
        + _looks(lines)
        + _counts(rows, "length_px")
    )


def components(results: Results) -> p9.ggplot:
    """Draw the speedup of each component of a reconstruction against ranks."""
    rows = [
        row | {"panel": point["name"], "line": NAMES[name], "ideal": row["workers"] / base}
        for found in results.every(ReconstructFindings)
        for point in timed(images(found))
        for name in (TOTAL, *COMPONENTS)
        for row, base in ((point["components"][name], point["baseline_workers"]),)
        if row["speedup"]
    ]
    lines = [NAMES[name] for name in (TOTAL, *COMPONENTS)]
    table = _table(rows)
    return (
        _frame(table, x="Ranks N (log scale)", y="Speedup over N0 (log scale)", legend=lines)
        + _line(table.drop_duplicates(["panel", "workers"]), "workers", "ideal", **IDEAL_LINE)
        + _points(table, "workers", "speedup", "line")
        + _looks(lines)
        + _counts(rows, "workers")
        + p9.scale_y_continuous(trans="log2", labels=lambda ticks: [f"{at:g}" for at in ticks])
    )


def loader_pareto(results: Results) -> p9.ggplot:
    """Draw configurations of a loader by patches a second and by diversity, with the front."""
    loader = results.of(LoaderFindings)
    points = loader.points.to_dicts() if loader else []
    front = [row for row in points if row["on_front"]]
    varied = [name for name in LABELS if len({row[name] for row in front}) > 1]
    sizes = [name for name in ("patch_px", "mpp") if len({row[name] for row in points}) > 1]
    rows = [
        row
        | {"panel": ", ".join([f"N = {row['workers']}", *(f"{n} {row[n]}" for n in sizes)])}
        | {"line": f"{row['num_workers']} loader processes"}
        | {"label": "/".join(str(row[name]) for name in varied)}
        for row in sorted(points, key=lambda row: row["num_workers"])
        if row["on_front"] is not None
    ]
    lines = list(dict.fromkeys(row["line"] for row in rows))
    table = _table(rows)
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


def _table(rows: Rows, panels: Sequence[Any] = ()) -> pd.DataFrame:
    """Shape rows for plotnine, with panels in the order of these curves or sweeps, or their own."""
    if not rows:
        raise NothingToDrawError("nothing was measured of what this figure shows")
    names = [one.name for one in panels] or [row["panel"] for row in rows]
    table = pd.DataFrame(rows)
    return table.assign(panel=pd.Categorical(table["panel"], list(dict.fromkeys(names))))


def _frame(
    table: pd.DataFrame, *, x: str, y: str, legend: Sequence[str] = (), scales: Scales = "fixed"
) -> p9.ggplot:
    """Begin a figure in the house style, a panel a value of `panel`, with room for the legend."""
    panels = list(table["panel"].unique())
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
            "panel",
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
    several = table.duplicated(["panel", series] if series else ["panel"], keep=False)
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


def _counts(rows: Sequence[Mapping[str, Any]], column: str) -> p9.scale_x_continuous:
    """Logarithmic axis with a tick at what was measured; labels that would touch are left out."""
    ticks = sorted({row[column] for row in rows})
    room = math.log2(ticks[-1] / ticks[0]) / MOST_TICKS if ticks else 0
    kept: list[float] = []
    for tick in reversed(ticks):
        if not kept or math.log2(kept[-1] / tick) >= room:
            kept.append(tick)
    labels = [f"{tick:.0f}" for tick in kept]
    # plotnine cannot place minor ticks beside a single major one.
    return p9.scale_x_continuous(trans="log2", breaks=kept, minor_breaks=[], labels=labels)


MEANS = (
    "Points: medians over trials; bars: their 95 % intervals, none where there are too few trials"
)
RATIOS = MEANS.replace("medians", "ratios of medians")
OVER_N = "Dashed: ideal; cross: invalid."
FIGURES: dict[str, tuple[Callable[[Results], p9.ggplot], str]] = {
    "benchmark_results": (
        wall_time,
        f"Wall time over the number of workers. {MEANS}; grey: single trials. {OVER_N}",
    ),
    "benchmark_speedup": (speedup, f"Speedup over the number of workers. {RATIOS}. {OVER_N}"),
    "benchmark_losses": (
        losses,
        "N times the wall time of the trial of median wall time, by what the workers did. Dashed: "
        "what the baseline needed for as much work; cross: invalid.",
    ),
    "benchmark_size_sweep": (size_sweep, f"Time of a call over the size of an image. {MEANS}."),
    "benchmark_size_speedup": (
        size_speedup,
        f"Times as fast over the size of an image. {RATIOS}. Dashed: as fast.",
    ),
    "benchmark_components": (
        components,
        f"Speedup of the components of an iteration. {RATIOS}. Dashed: ideal.",
    ),
    "benchmark_loader_pareto": (
        loader_pareto,
        f"Patches a second over diversity. {MEANS}. Line: the front, beside which nothing measured "
        f"is both faster and more diverse; numbers: {', '.join(LABELS)}, as far as they differ.",
    ),
}
"""Files of a report, what they show, and their captions."""


def write_figures(folder: Path, results: Results) -> list[Path]:
    """Write what there is as PNG, SVG and PDF, and captions; return the paths.

    Figures of an earlier report that this one has not are removed, or they would tell of another.
    """
    written, captions = [], []
    for name, plot in drawings(results):
        written += save(plot, folder / name)
        captions.append(f"**{name}.** {' '.join([FIGURES[name][1], *results.context.timed])}\n")
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
    for name, (draw, _) in FIGURES.items():
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
