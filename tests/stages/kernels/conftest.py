import pytest
import torch

import stagetasks
from pyscale_stages.kernels.stage import KernelParams
from pyscale_stages.kernels.work import Bench, StepClock
from smallstages import SMALL


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def clock():
    """The clock of a device that has memory of its own and always answers at once."""
    return StepClock(lambda: None, own_memory=True)


@pytest.fixture
def make_bench(tmp_path):
    def make(*, seed=0, device="cpu", **params):
        sizes = KernelParams(**(SMALL["kernels"] | params))
        return Bench(torch.device(device), sizes, seed, tmp_path)

    return make


@pytest.fixture
def done(make_bench, clock):
    """Prepare a test on a small bench and do it once: the work, and its result."""

    def do(prepare, *, bench=None, **how):
        work = prepare(bench or make_bench(), **how)
        return work, work.once(clock)

    return do


@pytest.fixture
def kernels(tmp_path):
    return stagetasks.Bench("kernels", tmp_path, **SMALL["kernels"])
