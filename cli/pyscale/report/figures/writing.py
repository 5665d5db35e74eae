"""The figures of a report, and all that can be drawn of its results, as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale.report.figures.cache import cache
from pyscale.report.figures.house import NothingToDrawError
from pyscale.report.figures.losses import losses
from pyscale.report.figures.saving import save
from pyscale.report.figures.speedup import speedup
from pyscale.report.figures.timeline import timeline
from pyscale.report.figures.wall_time import wall_time
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot

Figure = Callable[[Results], "ggplot"]

OF_A_REPORT: Mapping[str, Figure] = {"benchmark_results": wall_time, "benchmark_speedup": speedup}
"""Those of every report, by the name of their files."""
ALL: Mapping[str, Figure] = {
    "wall_time": wall_time,
    "speedup": speedup,
    "losses": losses,
    "timeline": timeline,
    "cache": cache,
}
"""All that show results of one run or table."""
FOLDER = "figures"


def write_figures(folder: Path, results: Results) -> list[Path]:
    """Write the two figures of every report; none where no trial was timed.

    Parameters
    ----------
    folder : Path
    results : Results

    Returns
    -------
    list of Path
        What was written: each figure as PNG, SVG and PDF.
    """
    return _write(OF_A_REPORT, folder, results)


def write_all_figures(folder: Path, results: Results) -> list[Path]:
    """Write every figure into the folder `figures`, but those of which nothing was measured.

    Parameters
    ----------
    folder : Path
        Of the report.
    results : Results

    Returns
    -------
    list of Path
        What was written: each figure as PNG, SVG and PDF.
    """
    return _write(ALL, folder / FOLDER, results)


def _write(figures: Mapping[str, Figure], folder: Path, results: Results) -> list[Path]:
    written = []
    for name, draw in figures.items():
        try:
            plot = draw(results)
        except NothingToDrawError:
            continue
        written += save(plot, folder / name)
    return written
