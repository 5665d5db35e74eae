"""A builder of the table of timings that tests of the machine leave."""

import json
from collections.abc import Mapping

import polars as pl
import pytest

from madeupmachine import TIMING
from pyscale.analysis.machine.beside import MachineSide
from pyscale.analysis.machine.findings import machine_tests, trial_medians
from pyscale.store.tables import timing_schema

SAME_SIZE = {"storage": "the same size"}


class MachineBuilder:
    """Builds `timings` in the order in which `test` is called.

    Each wall time is that of a process of its own, unless `inside` says that one process repeated
    them.
    """

    def __init__(self):
        self._rows = []

    def test(self, test, *walls_s, details=(), inside=None, **columns):
        """Add a wall time each; `details` of all of them, or of each; `inside` one block."""
        each = [details] * len(walls_s) if isinstance(details, Mapping) else details
        for repeat, wall_s in enumerate(walls_s):
            block = repeat + 1 if inside is None else inside
            base = {
                "trial": f"storage-n1-b{block}",
                "stage": "storage",
                "kind": "storage",
                "workers": 1,
                "block": block,
                "node": "node1",
                "hardware": "xeon",
                "test": test,
                "repeat": 0 if inside is None else repeat,
                "wall_s": wall_s,
                "bottleneck": "storage",
                "details": json.dumps(each[repeat] if each else {}),
            }
            self._rows.append(TIMING | base | columns)
        return self

    @property
    def timings(self):
        return pl.DataFrame(self._rows, schema=timing_schema())

    @property
    def tests(self):
        return machine_tests(self.timings)

    def side(self, sizes=SAME_SIZE):
        """What is compared of it."""
        return MachineSide(self.tests, sizes, trial_medians(self.timings))

    def only(self):
        """The one row that there is."""
        (row,) = self.tests.to_dicts()
        return row


@pytest.fixture
def machine():
    """A machine that was not measured yet."""
    return MachineBuilder()


@pytest.fixture
def new():
    """Make one machine after the other."""
    return MachineBuilder
