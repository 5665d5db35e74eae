import numpy as np
import pytest

from pyscale_stages.kernels import fsc
from pyscale_stages.kernels.particles import half_maps

SINGLE_PRECISION = 1e-4


def curve_by_numpy(first, second):
    """FSC over the whole transform, in double precision."""
    n = len(first)
    a, b = (np.fft.fftn(half.astype(np.float64)) for half in (first, second))
    axis = np.fft.fftfreq(n, 1 / n)
    radius = np.sqrt(axis[:, None, None] ** 2 + axis[:, None] ** 2 + axis**2)
    shells = np.rint(radius).astype(int)
    sums = [
        np.bincount(shells.ravel(), values.ravel())[: n // 2]
        for values in ((a * b.conj()).real, np.abs(a) ** 2, np.abs(b) ** 2)
    ]
    return sums[0] / np.sqrt(sums[1] * sums[2])


@pytest.mark.parametrize("mask", ["spherical", "loose", "tight"])
def test_the_curve_is_that_of_numpy(make_bench, clock, mask):
    bench = make_bench()
    curve = fsc.prepare(bench, mask=mask).once(clock)
    maps = half_maps(bench.params.map_px, bench.seed)
    masked = [half * fsc.mask_of(mask, maps) for half in maps.halves]
    assert np.abs(curve - curve_by_numpy(*masked)).max() < SINGLE_PRECISION
    assert list(clock.steps) == ["put_map_on_device", "apply_mask", "fft", "shells", "get_result"]
    assert clock.steps["put_map_on_device"].amount == 2 * 4 * 48**3


def test_noise_substitution_is_that_of_numpy(make_bench, clock):
    bench = make_bench()
    curve = fsc.prepare(bench, mask="tight", noise_substituted=True).once(clock)
    maps = half_maps(bench.params.map_px, bench.seed)
    mask = fsc.mask_of("tight", maps)
    shells, _ = fsc.shells_of(bench.params.map_px)
    start = int(np.flatnonzero(curve_by_numpy(*maps.halves) < 0.8)[0])
    angles = bench.rng("fsc_phases").uniform(0, 2 * np.pi, (2, *shells.shape)).astype(np.float32)
    noise = []
    for half, phases in zip(maps.halves, angles, strict=True):
        transform = np.fft.rfftn(half.astype(np.float64))
        beyond = np.abs(transform) * np.exp(1j * phases)
        noise.append(np.fft.irfftn(np.where(shells >= start, beyond, transform), s=half.shape))
    of_maps = curve_by_numpy(*(half * mask for half in maps.halves))
    of_noise = curve_by_numpy(*(half * mask for half in noise))
    expected = of_maps.copy()
    expected[start:] = (of_maps[start:] - of_noise[start:]) / (1 - of_noise[start:])
    assert np.abs(curve - expected).max() < SINGLE_PRECISION
    assert "randomise_phases" in clock.steps


@pytest.mark.parametrize("noise_substituted", [False, True])
def test_the_curve_is_what_signal_and_noise_let_expect(done, noise_substituted):
    work, curve = done(fsc.prepare, mask="tight", noise_substituted=noise_substituted)
    assert work.judge(curve).right
    assert curve[1] > 0.9
    assert curve[-1] < 0.3
    assert not work.judge(curve - 0.2).right
    assert not work.judge(np.ones_like(curve)).right
