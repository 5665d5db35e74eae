"""Tests of the machine of two runs, compared node by node."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.machine.comparison import compared_tests
from pyscale.analysis.machine.processes import trial_medians
from pyscale.analysis.machine.sidebyside import MachineSide, machines_side_by_side
from pyscale.analysis.machine.tests import machine_tests
from pyscale.betweenruns import MeasuredRun
from pyscale.references.workid import size_ids_of


def tests_compared(base: MeasuredRun, new: MeasuredRun, *, at_least: float) -> pl.DataFrame | None:
    """Judge tests of the machine that both runs did, node by node, or one node with the other."""
    if base.timings.is_empty() or new.timings.is_empty():
        return None
    nodes = [side.timings["node"].unique(maintain_order=True).to_list() for side in (base, new)]
    alone = all(len(own) == 1 for own in nodes)
    common = [(node, node, node) for node in nodes[0] if node in nodes[1]]
    found = []
    for name, before, after in [(None, nodes[0][0], nodes[1][0])] if alone else common:
        sides = [_side(base, before), _side(new, after)]
        table = compared_tests(sides, machines_side_by_side(sides), 0, 1, at_least=at_least)
        found.append(table.select(pl.lit(name, pl.String).alias("node"), *table.columns))
    return pl.concat(found) if found else None


def _side(run: MeasuredRun, node: str | None) -> MachineSide:
    own = run.timings.filter(run.timings["node"].eq_missing(node))
    return MachineSide(machine_tests(own), size_ids_of(run.run.plan), trial_medians(own))
