"""All plots that are declared."""

from __future__ import annotations

from pyscale.report.plots.cacheplot import cache
from pyscale.report.plots.curveplots import cost, memory, speedup, throughput, walltime
from pyscale.report.plots.loaderplots import pareto
from pyscale.report.plots.machineplots import codecs, kernels, nodes, readers, storage
from pyscale.report.plots.measuredplots import measures
from pyscale.report.plots.plot import Plot
from pyscale.report.plots.reconstructplots import component_shares, components
from pyscale.report.plots.sizeplots import ratios, times
from pyscale.report.plots.stack import Stack
from pyscale.report.plots.stacks import call_parts, losses
from pyscale.report.results import Results


def plots(results: Results) -> list[Plot | Stack]:
    """Every plot of results that has rows."""
    over_workers = (speedup, walltime, losses, throughput, memory, cost, cache, measures)
    over_sizes = (call_parts, ratios, times)
    of_ranks = (components, component_shares, pareto)
    of_a_machine = (nodes, storage, readers, codecs, kernels)
    declared: list[Plot | Stack] = [
        declare(results) for declare in (*over_workers, *over_sizes, *of_ranks, *of_a_machine)
    ]
    return [one for one in declared if one.rows]
