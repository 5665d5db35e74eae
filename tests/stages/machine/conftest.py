"""Every stage that measures the machine, small."""

import pytest

from smallstages import FEW, SMALL
from stagetasks import Bench


@pytest.fixture
def bench_of(tmp_path):
    """A stage, by its name."""
    return lambda stage, **usual: Bench(stage, tmp_path, **(SMALL[stage] | FEW[stage] | usual))


@pytest.fixture(params=SMALL)
def bench(request, bench_of):
    """Each stage that measures the machine."""
    return bench_of(request.param)
