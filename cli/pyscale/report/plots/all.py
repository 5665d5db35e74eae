"""All plots that are declared."""

from __future__ import annotations

from pyscale.report.plots.loaderplots import pareto
from pyscale.report.plots.machineplots import codecs, kernels, nodes, readers, storage
from pyscale.report.plots.measuredplots import measures
from pyscale.report.plots.plot import Plot
from pyscale.report.plots.reconstructplots import component_shares, components
from pyscale.report.plots.sizeplots import ratios, times
from pyscale.report.plots.stack import Stack
from pyscale.report.plots.stacks import call_parts, losses
from pyscale.report.results import Results


def plots(results: Results) -> list[Plot]:
    """Every plot, with rows or without, in the order of the page."""
    of_a_machine = (nodes, storage, readers, codecs, kernels)
    return [draw(results) for draw in (ratios, times, measures, components, pareto, *of_a_machine)]


def stacks(results: Results) -> list[Stack]:
    """Every plot of stacked bars, with rows or without."""
    return [draw(results) for draw in (losses, call_parts, component_shares)]
