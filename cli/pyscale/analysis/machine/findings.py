"""Findings of the machine itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from pyscale.analysis.machine.headroom import headroom
from pyscale.analysis.machine.nodes import node_comparison
from pyscale.analysis.machine.tests import machine_tests


@dataclass(frozen=True)
class MachineFindings:
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
    """

    tests: pl.DataFrame
    nodes: pl.DataFrame
    headroom: pl.DataFrame
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def machine_findings(
    timings: pl.DataFrame,
    tasks: pl.DataFrame,
    spans: pl.DataFrame,
    places: Mapping[str, Mapping[str, str]],
) -> MachineFindings | None:
    """Find what the machine stages of a run tell.

    Parameters
    ----------
    timings, tasks, spans : polars.DataFrame
        As `pyscale.store.tables` describes them.
    places : mapping of str to mapping of str to str
        By node, as in `MachineFindings`.

    Returns
    -------
    MachineFindings or None
        None where nothing of the machine was timed.
    """
    if timings.is_empty():
        return None
    tests = machine_tests(timings)
    others = tasks.filter(~pl.col("stage").is_in(timings["stage"].unique().to_list()))
    return MachineFindings(
        tests=tests,
        nodes=node_comparison(tests),
        headroom=headroom(tests, others, spans, places),
        places=places,
    )
