"""Figures of plots that are declared: each takes results and a width of 88 or 180 mm.

Each raises `NothingToDrawError` where the results hold nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.report.figures.draw import figure_of
from pyscale.report.figures.drawstack import stack_figure
from pyscale.report.figures.house import Width
from pyscale.report.plots import (
    loaderplots,
    machineplots,
    measuredplots,
    reconstructplots,
    sizeplots,
    stacks,
)
from pyscale.report.results import Results

if TYPE_CHECKING:
    from plotnine import ggplot


def machine_storage(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw what one reader gets of each kind of file, cold, warm and past the page cache."""
    return figure_of(machineplots.storage(results), results, width_mm)


def machine_kernels(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the time of every compute kernel on every device of one node."""
    return figure_of(machineplots.kernels(results), results, width_mm)


def machine_nodes(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw every node's rates over the medians of all nodes."""
    return figure_of(machineplots.nodes(results), results, width_mm)


def machine_readers(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the bandwidth of 1 to N readers together."""
    return figure_of(machineplots.readers(results), results, width_mm)


def machine_codecs(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the rate of decoding over the number of threads, a line a codec."""
    return figure_of(machineplots.codecs(results), results, width_mm)


def loader_pareto(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw every configuration of a loader by its diversity and by what it delivers."""
    return figure_of(loaderplots.pareto(results), results, width_mm)


def losses(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the worker-seconds of every configuration as bars, stacked by part."""
    return stack_figure(stacks.losses(results), results, width_mm)


def call_parts(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the shares of a call's parts at every size as stacked bars, a panel a device."""
    return stack_figure(stacks.call_parts(results), results, width_mm)


def measures(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the numbers that stages measure of their work over the number of workers."""
    return figure_of(measuredplots.measures(results), results, width_mm)


def components(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the speedup of each component of a reconstruction over ranks."""
    return figure_of(reconstructplots.components(results), results, width_mm)


def component_shares(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the shares of an iteration that each component of a reconstruction takes."""
    return stack_figure(reconstructplots.component_shares(results), results, width_mm)


def size_time(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw the time of a call over sizes, both axes logarithmic, a line a device."""
    return figure_of(sizeplots.times(results), results, width_mm)


def size_speedup(results: Results, *, width_mm: Width = 180) -> ggplot:
    """Draw ratios of times over sizes, and what they flatten at."""
    return figure_of(sizeplots.ratios(results), results, width_mm)
