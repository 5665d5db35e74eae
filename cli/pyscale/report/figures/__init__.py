"""Figures for papers, by plotnine: a function each, usable from a notebook."""

from pyscale.report.figures.cache import cache
from pyscale.report.figures.comparison import comparison
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
from pyscale.report.figures.house import NothingToDrawError
from pyscale.report.figures.saving import save
from pyscale.report.figures.size_sweep import size_sweep
from pyscale.report.figures.speedup import speedup
from pyscale.report.figures.timeline import timeline
from pyscale.report.figures.wall_time import wall_time
from pyscale.report.figures.writing import write_all_figures, write_figures

__all__ = [
    "NothingToDrawError",
    "cache",
    "call_parts",
    "comparison",
    "component_shares",
    "components",
    "loader_pareto",
    "losses",
    "machine_codecs",
    "machine_kernels",
    "machine_nodes",
    "machine_readers",
    "machine_storage",
    "measures",
    "save",
    "size_speedup",
    "size_sweep",
    "size_time",
    "speedup",
    "timeline",
    "wall_time",
    "write_all_figures",
    "write_figures",
]
