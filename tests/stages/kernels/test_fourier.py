from __future__ import annotations

import numpy as np
import pytest

from pyscale_stages.kernels import basics
from pyscale_stages.kernels.work import Bench

SINGLE_PRECISION = 1e-5
"""Of a coefficient, in the root mean square of all."""


@pytest.mark.parametrize(
    ("name", "shape", "axes"),
    [("fft_2d", (2, 32, 32), (-2, -1)), ("fft_3d", (16, 16, 16), (-3, -2, -1))],
)
def test_transforms_are_those_of_numpy_in_double_precision(make_bench, clock, name, shape, axes):
    bench: Bench = make_bench()
    work = {"fft_2d": basics.prepare_2d, "fft_3d": basics.prepare_3d}[name](bench)
    transform, back = work.once(clock)
    values = bench.rng(name).standard_normal(shape, dtype=np.float32)
    expected = np.fft.rfftn(values.astype(np.float64), axes=axes)
    scale = np.sqrt(np.mean(np.abs(expected) ** 2))
    assert np.abs(transform.numpy() - expected).max() < SINGLE_PRECISION * scale
    assert np.abs(back.numpy() - values).max() < SINGLE_PRECISION * np.abs(values).max()
    assert set(clock.steps) == {"forward", "inverse"}


def test_a_transform_that_does_not_come_back_is_judged_wrong(make_bench, clock):
    work = basics.prepare_2d(make_bench())
    transform, back = work.once(clock)
    assert work.judge((transform, back)).right
    assert not work.judge((transform, back + 0.01)).right
    assert not work.judge((transform, back * float("nan"))).right


def test_operations_are_counted_by_fftws_convention(make_bench):
    params = make_bench(fft_2d_px=64, fft_images=3, fft_3d_px=32).params
    assert basics.flop_2d(params) == 3 * 2 * 2.5 * 4096 * 12
    assert basics.flop_3d(params) == 2 * 2.5 * 32768 * 15
