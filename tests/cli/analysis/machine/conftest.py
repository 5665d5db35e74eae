"""A builder of the table of timings that tests of the machine leave."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
import pytest

from pyscale.analysis.machine.processes import trial_medians
from pyscale.analysis.machine.sidebyside import MachineSide
from pyscale.analysis.machine.tests import machine_tests
from pyscale.store.tables import timing_schema

SAME_SIZE = {"storage": "the same size"}


class MachineBuilder:
    """Builds `timings` in the order in which `test` is called.

    Each wall time is that of a process of its own, unless `inside` says that one process repeated
    them.
    """

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def test(
        self,
        test: str,
        *walls_s: float | None,
        details: Mapping[str, float] | Sequence[Mapping[str, float]] = (),
        inside: int | None = None,
        **columns: Any,
    ) -> MachineBuilder:
        """Add a wall time each; `details` of all of them, or of each; `inside` one block."""
        each = [details] * len(walls_s) if isinstance(details, Mapping) else details
        for repeat, wall_s in enumerate(walls_s):
            own = each[repeat] if each else {}
            block = repeat + 1 if inside is None else inside
            base = {
                "trial": f"storage-n1-b{block}",
                "stage": "storage",
                "kind": "storage",
                "suite": "system",
                "workers": 1,
                "block": block,
                "task": "w0",
                "node": "node1",
                "hardware": "xeon",
                "device": None,
                "test": test,
                "step": None,
                "repeat": 0 if inside is None else repeat,
                "at_once": 1,
                "wall_s": wall_s,
                "amount": None,
                "unit": None,
                "bottleneck": "storage",
                "cache": None,
                "why_not": "",
                "details": json.dumps(own),
            }
            self._rows.append(base | columns)
        return self

    @property
    def timings(self) -> pl.DataFrame:
        return pl.DataFrame(self._rows, schema=timing_schema())

    @property
    def tests(self) -> pl.DataFrame:
        return machine_tests(self.timings)

    def side(self, sizes: Mapping[str, str] = SAME_SIZE) -> MachineSide:
        """What is compared of it."""
        return MachineSide(self.tests, sizes, trial_medians(self.timings))

    def only(self) -> dict[str, Any]:
        """The one row that there is."""
        (row,) = self.tests.to_dicts()
        return row


@pytest.fixture
def machine() -> MachineBuilder:
    """A machine that was not measured yet."""
    return MachineBuilder()


@pytest.fixture
def new() -> Callable[[], MachineBuilder]:
    """Make one machine after the other."""
    return MachineBuilder
