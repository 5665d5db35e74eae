"""A builder of the table of timings that tests of the machine leave."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pytest

from pyscale.analysis.machine.tests import machine_tests
from pyscale.store.columns import timing_schema


class MachineBuilder:
    """Builds `timings` in the order in which `test` is called."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def test(
        self,
        test: str,
        *walls_s: float | None,
        details: Mapping[str, float] | Sequence[Mapping[str, float]] = (),
        **columns: Any,
    ) -> MachineBuilder:
        """Add a repeat for each wall time; `details` of all of them, or of each."""
        each = [details] * len(walls_s) if isinstance(details, Mapping) else details
        for repeat, wall_s in enumerate(walls_s):
            own = each[repeat] if each else {}
            base = {
                "trial": "storage-n1-b1",
                "stage": "storage",
                "kind": "storage",
                "suite": "system",
                "workers": 1,
                "block": 1,
                "task": "w0",
                "node": "node1",
                "hardware": "xeon",
                "device": None,
                "test": test,
                "step": None,
                "repeat": repeat,
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

    def only(self) -> dict[str, Any]:
        """The one row that there is."""
        (row,) = self.tests.to_dicts()
        return row


@pytest.fixture
def machine() -> MachineBuilder:
    """A machine that was not measured yet."""
    return MachineBuilder()
