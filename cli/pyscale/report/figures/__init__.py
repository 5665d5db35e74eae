"""Figures for papers, by plotnine: a function each, usable from a notebook.

Each draws what its declaration takes, `width_mm` wide: 88 or 180, for one column of a journal or
two. Each raises `NothingToDrawError` where there is nothing of it.
"""

from pyscale.report.figures.draw import printed
from pyscale.report.figures.house import NothingToDrawError as NothingToDrawError
from pyscale.report.figures.timeline import timeline as timeline
from pyscale.report.figures.writing import save as save
from pyscale.report.figures.writing import write_all_figures as write_all_figures
from pyscale.report.figures.writing import write_figures as write_figures
from pyscale.report.plots import (
    curveplots,
    loaderplots,
    machineplots,
    reconstructplots,
    sizeplots,
    stageplots,
)

speedup = printed(curveplots.speedup)
wall_time = printed(curveplots.walltime)
throughput = printed(curveplots.throughput)
memory = printed(curveplots.memory)
cost = printed(curveplots.cost)
losses = printed(stageplots.losses)
cache = printed(stageplots.cache)
measures = printed(stageplots.measures)
call_parts = printed(sizeplots.call_parts)
size_time = printed(sizeplots.times)
size_speedup = printed(sizeplots.ratios)
components = printed(reconstructplots.components)
component_shares = printed(reconstructplots.component_shares)
loader_pareto = printed(loaderplots.pareto)
machine_storage = printed(machineplots.storage)
machine_readers = printed(machineplots.readers)
machine_codecs = printed(machineplots.codecs)
machine_kernels = printed(machineplots.kernels)
machine_nodes = printed(machineplots.nodes)
