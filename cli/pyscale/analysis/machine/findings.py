"""Findings of the machine itself, and which of several nodes stand apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from pyscale.analysis.findings import Findings
from pyscale.analysis.machine.tests import machine_tests
from pyscale.analysis.schema import FLAG, REAL, TEXT, WHOLE, columns

SLOW, FAST = 0.8, 1.25
"""Ratios to the median of all nodes beyond which a node is no ordinary one."""
LEAST_NODES = 3
"""Of two nodes that differ, nobody can say which is the ordinary one."""
TEST = ("kind", "stage", "workers", "device", "test", "step", "at_once")


def node_comparison(tests: pl.DataFrame) -> pl.DataFrame:
    """Set each node beside the median of all that did the same test."""
    wall_s = {end: pl.col(f"wall_s{end}") for end in ("", "_low", "_high")}
    told = pl.col("rate").is_not_null()
    timed = tests.filter(
        "whole",
        pl.col("wall_s").is_not_null(),
        pl.col("node").is_not_null(),
        ~pl.col("flags").list.contains("disagrees"),
    ).with_columns(
        unit=pl.when(told).then("unit"),
        # Without an amount the inverse of the time will do, as all nodes did the same test.
        rate=pl.when(told).then("rate").otherwise(1 / wall_s[""]),
        rate_low=pl.when(told).then("rate_low").otherwise(1 / wall_s["_high"]),
        rate_high=pl.when(told).then("rate_high").otherwise(1 / wall_s["_low"]),
    )
    median = pl.col("median_rate")
    known = (pl.col("nodes") >= LEAST_NODES) & pl.col("ratio_low").is_not_null()
    # An outlier is far from the median, and by more than its own trials scatter.
    slow = (pl.col("ratio") < SLOW) & (pl.col("ratio_high") < 1)
    fast = (pl.col("ratio") > FAST) & (pl.col("ratio_low") > 1)
    return (
        timed.with_row_index("order")
        .with_columns(
            order=pl.col("order").min().over(TEST),
            nodes=pl.col("node").n_unique().over(TEST).cast(pl.Int64),
            median_rate=pl.col("rate").median().over(TEST),
        )
        .filter(pl.col("nodes") > 1)
        .with_columns(
            ratio=pl.col("rate") / median,
            ratio_low=pl.col("rate_low") / median,
            ratio_high=pl.col("rate_high") / median,
        )
        .with_columns(outlier=pl.when(known).then(slow | fast))
        .sort("order", maintain_order=True)
        .select(pl.col(name).cast(kind) for name, kind in NODE_SCHEMA.items())
    )


NODE_SCHEMA = columns(
    (TEXT, "kind stage"),
    (WHOLE, "workers"),
    (TEXT, "device test step"),
    (WHOLE, "at_once"),
    (TEXT, "node hardware"),
    (WHOLE, "nodes"),
    (TEXT, "unit"),
    (REAL, "rate median_rate ratio ratio_low ratio_high"),
    (FLAG, "outlier"),
)


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
