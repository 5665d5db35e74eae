"""Figures of what is declared: each draws what its declaration takes, `width_mm` wide.

That is 88 or 180, for one column of a journal or two. Each raises `NothingToDrawError` where there
is nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyscale.report.figures.draw import figure_of
from pyscale.report.figures.drawstack import stack_figure
from pyscale.report.figures.house import Width
from pyscale.report.plots import (
    cacheplot,
    comparisonplot,
    curveplots,
    loaderplots,
    machineplots,
    measuredplots,
    reconstructplots,
    sizeplots,
    sizesweepplot,
    stacks,
)
from pyscale.report.plots.plot import Plot
from pyscale.report.plots.stack import Stack

if TYPE_CHECKING:
    from plotnine import ggplot

Figure = Callable[..., "ggplot"]
"""Draws what was measured, `width_mm` wide."""


def _printed(declare: Callable[..., Plot | Stack]) -> Figure:
    def draw(*measured: Any, width_mm: Width = 180, **how: Any) -> ggplot:
        declared = declare(*measured, **how)
        if isinstance(declared, Plot):
            return figure_of(declared, width_mm)
        return stack_figure(declared, width_mm)

    draw.__doc__ = declare.__doc__
    return draw


speedup = _printed(curveplots.speedup)
wall_time = _printed(curveplots.walltime)
throughput = _printed(curveplots.throughput)
memory = _printed(curveplots.memory)
cost = _printed(curveplots.cost)
losses = _printed(stacks.losses)
cache = _printed(cacheplot.cache)
measures = _printed(measuredplots.measures)
call_parts = _printed(stacks.call_parts)
size_time = _printed(sizeplots.times)
size_speedup = _printed(sizeplots.ratios)
size_sweep = _printed(sizesweepplot.size_sweep)
comparison = _printed(comparisonplot.comparison)
components = _printed(reconstructplots.components)
component_shares = _printed(reconstructplots.component_shares)
loader_pareto = _printed(loaderplots.pareto)
machine_storage = _printed(machineplots.storage)
machine_readers = _printed(machineplots.readers)
machine_codecs = _printed(machineplots.codecs)
machine_kernels = _printed(machineplots.kernels)
machine_nodes = _printed(machineplots.nodes)
