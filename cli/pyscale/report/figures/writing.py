"""The figures of a report, and all that can be drawn of its results, as files.

The same numbers give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import plotnine as p9

from pyscale.report.figures.draw import drawing
from pyscale.report.figures.house import NothingToDrawError, without_caption
from pyscale.report.figures.timeline import timeline
from pyscale.report.plots.all import plots
from pyscale.report.plots.plot import Width
from pyscale.report.results import Results
from pyscale_stages.atomic import atomic_path, write_atomically

OF_A_REPORT = {
    "speedup": "benchmark_speedup",
    "walltime": "benchmark_results",
    "losses": "benchmark_losses",
    "measures": "benchmark_measures",
    "sizetime": "benchmark_size_sweep",
    "sizeratio": "benchmark_size_speedup",
    "components": "benchmark_components",
    "componentshares": "benchmark_component_shares",
    "loaderpareto": "benchmark_loader_pareto",
    **{
        f"machine{name}": f"benchmark_machine_{name}"
        for name in ("storage", "readers", "codecs", "kernels", "nodes")
    },
}
"""Plots that every report shows that has something of them, and the names of their files."""
ALL = {
    "walltime": "wall_time",
    **{name: name for name in ("speedup", "throughput", "memory", "cost", "losses", "timeline")},
    "cache": "cache",
    "callparts": "call_parts",
}
"""All that show results of one run or table over N, and what calls consist of."""
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"pil_kwargs": {"compress_level": 3}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
"""What is written, how quickly, and without the field of each that would hold the date."""
FOLDER = "figures"
CAPTIONS = "figure_captions.md"
"""What each figure shows, and how to read it: a file beside them, as a paper sets its captions."""


def write_figures(folder: Path, results: Results, *, width_mm: Width = 180) -> list[Path]:
    """Write the figures of every report, each as PNG, SVG and PDF; return their paths.

    None is written of which nothing was timed. Figures of an earlier report that this one has not
    are removed, or they would tell of another.
    """
    written = _write(OF_A_REPORT, folder, results, width_mm)
    names = [f"{name}.{suffix}" for name in OF_A_REPORT.values() for suffix in FORMATS]
    for path in (folder / name for name in (*names, CAPTIONS)):
        if path not in written:
            path.unlink(missing_ok=True)
    return written


def write_all_figures(folder: Path, results: Results, *, width_mm: Width = 180) -> list[Path]:
    """Write every figure into the folder `figures`, but those of which nothing was measured."""
    return _write(ALL, folder / FOLDER, results, width_mm)


def _write(names: Mapping[str, str], folder: Path, results: Results, width_mm: Width) -> list[Path]:
    written, captions = [], []
    for name, plot in drawings(results, names, width_mm):
        written += save(plot, folder / name)
        captions.append(f"**{name}.** {' '.join(str(plot.labels.caption).split())}\n")
    if captions:
        write_atomically(folder / CAPTIONS, "\n".join(captions))
        written.append(folder / CAPTIONS)
    return written


def drawings(
    results: Results, names: Mapping[str, str], width_mm: Width = 180
) -> Iterator[tuple[str, p9.ggplot]]:
    """Names of files, and what they show, of those plots that there are."""
    declared = {plot.id: plot for plot in plots(results)}
    for which, name in names.items():
        if which in declared:
            yield name, drawing(declared[which], width_mm)
        elif which == "timeline":
            try:
                yield name, timeline(results, width_mm=width_mm)
            except NothingToDrawError:
                continue


def save(plot: p9.ggplot, stem: Path) -> list[Path]:
    """Draw once and write every format, with fixed seeds, no date and no caption.

    Parameters
    ----------
    plot : plotnine.ggplot
        As the functions of this package give it, perhaps with changes.
    stem : Path
        Path of the files without their endings; its folder is made if absent.

    Returns
    -------
    list of Path
        What was written: PNG at 300 dots per inch, SVG and PDF.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure = without_caption(plot).draw()
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
