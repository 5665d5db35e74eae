import numpy as np
import pytest

from pyscale_stages.kernels import basics
from pyscale_stages.kernels.work import StepClock


def test_the_triad_is_that_of_numpy(make_bench, done):
    bench = make_bench()
    work, got = done(basics.prepare_triad, bench=bench)
    rng = bench.rng("triad")
    b, c = (rng.random(1 << 12, dtype=np.float32) for _ in range(2))
    assert np.abs(got.numpy() - (b + 3.0 * c.astype(np.float64))).max() < 1e-6
    assert work.judge(got).right
    assert not work.judge(got + 0.01).right
    assert basics.triad_bytes(bench.params) == 3 * 4 * (1 << 12)


def test_the_product_is_that_of_numpy_in_double_precision(make_bench, done):
    bench = make_bench(matrix_size=48)
    work, got = done(basics.prepare_product, bench=bench)
    rng = bench.rng("matrix_product")
    a, b = (rng.standard_normal((48, 48), dtype=np.float32).astype(np.float64) for _ in range(2))
    assert np.abs(got.numpy() - a @ b).max() < 1e-4
    assert work.judge(got).right
    wrong = got.clone()
    wrong[7, 9] += 1
    assert not work.judge(wrong).right
    assert basics.product_flop(bench.params) == 2 * 48**3


def test_allocated_memory_is_written_to_both_ends(make_bench, done, clock):
    work, result = done(basics.prepare_allocation, bench=make_bench(allocation_bytes=5000))
    assert result == (5000, 14)
    assert work.judge(result).right
    assert not work.judge((5000, 7)).right
    assert list(clock.steps) == ["allocate", "fill", "free"]


def test_every_launch_is_done_and_waited_for_and_counted_apart(make_bench):
    waits = []
    clock = StepClock(lambda: waits.append(None), own_memory=True)
    work = basics.prepare_launches(make_bench(launches=5))
    assert work.once(clock) == 10
    assert work.judge(10).right
    assert not work.judge(9).right
    # Twice for each of two steps, and once after each launch that is waited for.
    assert len(waits) == 4 + 5
    assert {name: (step.amount, step.unit) for name, step in clock.steps.items()} == {
        "queued": (5, "launch"),
        "waited": (5, "launch"),
    }


SINGLE_PRECISION = 1e-5
"""Of a coefficient, in the root mean square of all."""


@pytest.mark.parametrize(
    ("name", "shape", "axes"),
    [("fft_2d", (2, 32, 32), (-2, -1)), ("fft_3d", (16, 16, 16), (-3, -2, -1))],
)
def test_transforms_are_those_of_numpy_in_double_precision(
    make_bench, done, clock, name, shape, axes
):
    prepare = {"fft_2d": basics.prepare_2d, "fft_3d": basics.prepare_3d}[name]
    _, (transform, back) = done(prepare)
    values = make_bench().rng(name).standard_normal(shape, dtype=np.float32)
    expected = np.fft.rfftn(values.astype(np.float64), axes=axes)
    scale = np.sqrt(np.mean(np.abs(expected) ** 2))
    assert np.abs(transform.numpy() - expected).max() < SINGLE_PRECISION * scale
    assert np.abs(back.numpy() - values).max() < SINGLE_PRECISION * np.abs(values).max()
    assert set(clock.steps) == {"forward", "inverse"}


def test_a_transform_that_does_not_come_back_is_wrong_and_its_operations_are_fftws(
    make_bench, done
):
    work, (transform, back) = done(basics.prepare_2d)
    assert work.judge((transform, back)).right
    assert not work.judge((transform, back + 0.01)).right
    assert not work.judge((transform, back * float("nan"))).right
    params = make_bench(fft_2d_px=64, fft_images=3, fft_3d_px=32).params
    assert basics.flop_2d(params) == 3 * 2 * 2.5 * 4096 * 12
    assert basics.flop_3d(params) == 2 * 2.5 * 32768 * 15
