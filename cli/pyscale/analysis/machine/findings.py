"""Findings of the machine itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from pyscale.analysis.findings import Findings
from pyscale.analysis.machine.nodes import node_comparison
from pyscale.analysis.machine.tests import machine_tests


@dataclass(frozen=True)
class MachineFindings(Findings):
    """Findings of a run's machine stages."""

    kind: ClassVar = "machine"
    work: ClassVar = "each"

    tests: pl.DataFrame
    """A row for each test and step."""
    nodes: pl.DataFrame
    """Node beside node, for tests that several did."""
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By node: what was said of the folder that was measured and of the devices, like
    `place_filesystem` or `cache_method`."""
    measuring: frozenset[str] = frozenset()
    """Entries of the suite that measure the machine and read no movie: they are in the tables of
    trials and configurations, but N workers share no work there, so that nothing is said of how
    they scale."""
    sizes: Mapping[str, str] = field(default_factory=dict)
    """By such an entry: fingerprint of how large what it works on is, by which equal work is told
    (see `pyscale.references.workid.size_ids_of`)."""

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Tests and nodes."""
        return {"tests": self.tests, "nodes": self.nodes}

    @property
    def entries(self) -> frozenset[str]:
        """Entries that measure the machine, whether or not anything was timed."""
        return self.measuring


def machine_findings(
    timings: pl.DataFrame,
    places: Mapping[str, Mapping[str, str]],
    *,
    measuring: Collection[str],
    sizes: Mapping[str, str] | None = None,
) -> MachineFindings | None:
    """Find what the machine stages of a run tell; None where no entry measures the machine."""
    if not measuring:
        return None
    tests = machine_tests(timings)
    return MachineFindings(
        tests=tests,
        nodes=node_comparison(tests),
        places=places,
        measuring=frozenset(measuring),
        sizes=sizes or {},
    )
