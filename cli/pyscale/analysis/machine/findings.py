"""Findings of the machine itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from pyscale.analysis.findings import Findings
from pyscale.analysis.machine.headroom import headroom
from pyscale.analysis.machine.nodes import node_comparison
from pyscale.analysis.machine.tests import machine_tests


@dataclass(frozen=True)
class MachineFindings(Findings):
    """Findings of a run's machine stages.

    Attributes
    ----------
    tests : polars.DataFrame
        A row for each test and step; see `pyscale.analysis.machine.tests.test_schema`.
    nodes : polars.DataFrame
        Node beside node, for tests that several did; see
        `pyscale.analysis.machine.nodes.node_schema`.
    headroom : polars.DataFrame
        What the other stages of the run read beside what the storage gives; see
        `pyscale.analysis.machine.headroom.headroom_schema`.
    places : mapping of str to mapping of str to str
        By node: what was said of the folder that was measured and of the devices, like
        `place_filesystem`, `cache_method` or `fio`.
    measuring : frozenset of str
        Entries of the suite that measure the machine and read no movie: they are in the tables of
        trials and configurations, but N workers share no work there, so that nothing is said of
        how they scale.
    sizes : mapping of str to str
        By such an entry: fingerprint of how large what it works on is, by which equal work is told
        (see `pyscale.references.workid.size_ids_of`).
    """

    kind: ClassVar = "machine"
    work: ClassVar = "each"

    tests: pl.DataFrame
    nodes: pl.DataFrame
    headroom: pl.DataFrame
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    measuring: frozenset[str] = frozenset()
    sizes: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Tests, nodes and headroom."""
        return {"tests": self.tests, "nodes": self.nodes, "headroom": self.headroom}

    @property
    def entries(self) -> frozenset[str]:
        """Entries that measure the machine, whether or not anything was timed."""
        return self.measuring


def machine_findings(
    timings: pl.DataFrame,
    tasks: pl.DataFrame,
    spans: pl.DataFrame,
    places: Mapping[str, Mapping[str, str]],
    *,
    measuring: Collection[str],
    sizes: Mapping[str, str] | None = None,
) -> MachineFindings | None:
    """Find what the machine stages of a run tell.

    Parameters
    ----------
    timings, tasks, spans : polars.DataFrame
        As `pyscale.store.tables` describes them.
    places, measuring, sizes
        As in `MachineFindings`.

    Returns
    -------
    MachineFindings or None
        None where no entry measures the machine.
    """
    if not measuring:
        return None
    tests = machine_tests(timings)
    others = tasks.filter(~pl.col("stage").is_in(timings["stage"].unique().to_list()))
    return MachineFindings(
        tests=tests,
        nodes=node_comparison(tests),
        headroom=headroom(tests, others, spans, places),
        places=places,
        measuring=frozenset(measuring),
        sizes=sizes or {},
    )
