"""The figures of a report, and all that can be drawn of its results, as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale.report.figures.cache import cache
from pyscale.report.figures.declared import (
    call_parts,
    component_shares,
    components,
    loader_pareto,
    losses,
    machine_codecs,
    machine_kernels,
    machine_nodes,
    machine_readers,
    machine_storage,
    measures,
    size_speedup,
    size_time,
)
from pyscale.report.figures.house import NothingToDrawError, Width
from pyscale.report.figures.saving import FORMATS, save
from pyscale.report.figures.speedup import speedup
from pyscale.report.figures.timeline import timeline
from pyscale.report.figures.wall_time import wall_time
from pyscale.report.grid.scope import about_workers
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot

Figure = Callable[..., "ggplot"]
"""Draws results, `width_mm` wide."""

OF_A_REPORT: Mapping[str, Figure] = {
    "benchmark_results": wall_time,
    "benchmark_losses": losses,
    "benchmark_measures": measures,
}
"""Those of every report about N, by the name of their files."""
OF_A_GRID: Mapping[str, Figure] = {
    "benchmark_size_sweep": size_time,
    "benchmark_size_speedup": size_speedup,
}
"""Those of every report of a grid."""
OF_A_MACHINE: Mapping[str, Figure] = {
    "benchmark_machine_storage": machine_storage,
    "benchmark_machine_readers": machine_readers,
    "benchmark_machine_codecs": machine_codecs,
    "benchmark_machine_kernels": machine_kernels,
    "benchmark_machine_nodes": machine_nodes,
}
"""Those of every report with tests of the machine."""
OF_A_LOADER: Mapping[str, Figure] = {"benchmark_loader_pareto": loader_pareto}
"""That of every report of loading patches."""
OF_RECONSTRUCTION: Mapping[str, Figure] = {
    "benchmark_components": components,
    "benchmark_component_shares": component_shares,
}
"""Those of every report of reconstruction over ranks."""
ALL: Mapping[str, Figure] = {
    "wall_time": wall_time,
    "speedup": speedup,
    "losses": losses,
    "timeline": timeline,
    "cache": cache,
    "call_parts": call_parts,
}
"""All that show results of one run or table."""
FOLDER = "figures"
FORMER = ("benchmark_speedup",)
"""Figures that a report had once, and that would now tell of an earlier one."""


def write_figures(folder: Path, results: Results, *, width_mm: Width = 180) -> list[Path]:
    """Write the figures of every report, two of a grid, those of a machine and of ranks.

    None is written of which nothing was timed.

    Figures of an earlier report that this one has not are removed, or they would tell of another.

    Parameters
    ----------
    folder : Path
    results : Results
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    list of Path
        What was written: each figure as PNG, SVG and PDF.
    """
    figures = {**OF_A_GRID, **OF_RECONSTRUCTION, **OF_A_LOADER, **OF_A_MACHINE, **OF_A_REPORT}
    written = _write(figures, folder, results, width_mm)
    for name in (*figures, *FORMER):
        for suffix in FORMATS:
            path = folder / f"{name}.{suffix}"
            if path not in written:
                path.unlink(missing_ok=True)
    return written


def write_all_figures(folder: Path, results: Results, *, width_mm: Width = 180) -> list[Path]:
    """Write every figure into the folder `figures`, but those of which nothing was measured.

    Parameters
    ----------
    folder : Path
        Of the report.
    results : Results
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    list of Path
        What was written: each figure as PNG, SVG and PDF.
    """
    return _write(ALL, folder / FOLDER, results, width_mm)


def _write(
    figures: Mapping[str, Figure], folder: Path, results: Results, width_mm: Width
) -> list[Path]:
    about_n = about_workers(results)
    apart = {**OF_RECONSTRUCTION, **OF_A_LOADER, **OF_A_MACHINE}.values()
    not_over_n = {size_time, size_speedup, call_parts, *apart}
    written = []
    for name, draw in figures.items():
        try:
            plot = draw(results if draw in not_over_n else about_n, width_mm=width_mm)
        except NothingToDrawError:
            continue
        written += save(plot, folder / name)
    return written
