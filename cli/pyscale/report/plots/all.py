"""All plots that are declared."""

from __future__ import annotations

from collections.abc import Callable

from pyscale.report.plots import (
    curveplots,
    loaderplots,
    machineplots,
    reconstructplots,
    sizeplots,
    stageplots,
)
from pyscale.report.plots.plot import Plot, Stack
from pyscale.report.results import Results

DECLARED: tuple[Callable[[Results], Plot | Stack], ...] = (
    *(curveplots.speedup, curveplots.walltime, stageplots.losses, curveplots.throughput),
    *(curveplots.memory, curveplots.cost, stageplots.cache, stageplots.measures),
    *(sizeplots.call_parts, sizeplots.ratios, sizeplots.times),
    *(reconstructplots.components, reconstructplots.component_shares, loaderplots.pareto),
    *(machineplots.nodes, machineplots.storage, machineplots.readers, machineplots.codecs),
    machineplots.kernels,
)


def plots(results: Results) -> list[Plot | Stack]:
    """Every plot of results that has rows."""
    return [one for one in (declare(results) for declare in DECLARED) if one.rows]
