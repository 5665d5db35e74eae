"""Figures for papers, by plotnine: a function each, usable from a notebook."""

from pyscale.report.figures.house import NothingToDrawError
from pyscale.report.figures.printed import (
    cache,
    call_parts,
    comparison,
    component_shares,
    components,
    cost,
    loader_pareto,
    losses,
    machine_codecs,
    machine_kernels,
    machine_nodes,
    machine_readers,
    machine_storage,
    measures,
    memory,
    size_speedup,
    size_sweep,
    size_time,
    speedup,
    throughput,
    wall_time,
)
from pyscale.report.figures.saving import save
from pyscale.report.figures.timeline import timeline
from pyscale.report.figures.writing import write_all_figures, write_figures

__all__ = [
    "NothingToDrawError",
    "cache",
    "call_parts",
    "comparison",
    "component_shares",
    "components",
    "cost",
    "loader_pareto",
    "losses",
    "machine_codecs",
    "machine_kernels",
    "machine_nodes",
    "machine_readers",
    "machine_storage",
    "measures",
    "memory",
    "save",
    "size_speedup",
    "size_sweep",
    "size_time",
    "speedup",
    "throughput",
    "timeline",
    "wall_time",
    "write_all_figures",
    "write_figures",
]
