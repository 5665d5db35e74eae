from __future__ import annotations

import numpy as np
import pytest

from pyscale_stages.kernels import basics
from pyscale_stages.kernels.work import Bench, StepClock


def test_the_triad_is_that_of_numpy(make_bench, clock):
    bench: Bench = make_bench()
    work = basics.prepare_triad(bench)
    got = work.once(clock)
    rng = bench.rng("triad")
    b, c = (rng.random(1 << 12, dtype=np.float32) for _ in range(2))
    assert np.abs(got.numpy() - (b + 3.0 * c.astype(np.float64))).max() < 1e-6
    assert work.judge(got).right
    assert not work.judge(got + 0.01).right
    assert basics.triad_bytes(bench.params) == 3 * 4 * (1 << 12)


def test_the_product_is_that_of_numpy_in_double_precision(make_bench, clock):
    bench: Bench = make_bench(matrix_size=48)
    work = basics.prepare_product(bench)
    got = work.once(clock)
    rng = bench.rng("matrix_product")
    a, b = (rng.standard_normal((48, 48), dtype=np.float32).astype(np.float64) for _ in range(2))
    assert np.abs(got.numpy() - a @ b).max() < 1e-4
    assert work.judge(got).right
    wrong = got.clone()
    wrong[7, 9] += 1
    assert not work.judge(wrong).right
    assert basics.product_flop(bench.params) == 2 * 48**3


def test_allocated_memory_is_written_to_both_ends(make_bench, clock):
    work = basics.prepare_allocation(make_bench(allocation_bytes=5000))
    result = work.once(clock)
    assert result == (5000, 14)
    assert work.judge(result).right
    assert not work.judge((5000, 7)).right
    assert list(clock.steps) == ["allocate", "fill", "free"]


def test_every_launch_is_done_and_waited_for(make_bench):
    waits: list[None] = []
    clock = StepClock(lambda: waits.append(None), own_memory=True)
    work = basics.prepare_launches(make_bench(launches=5))
    assert work.once(clock) == 10
    assert work.judge(10).right
    assert not work.judge(9).right
    # Twice for each of two steps, and once after each launch that is waited for.
    assert len(waits) == 4 + 5


@pytest.mark.parametrize("step", ["queued", "waited"])
def test_launches_are_counted_apart(make_bench, clock, step):
    basics.prepare_launches(make_bench(launches=5)).once(clock)
    assert (clock.steps[step].amount, clock.steps[step].unit) == (5, "launch")
