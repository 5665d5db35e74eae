import numpy as np
import pytest

from pyscale_stages.kernels import halfmaps
from pyscale_stages.kernels.particles import half_maps

SINGLE_PRECISION = 1e-4


def radii(n):
    """Distance from the origin of a whole transform."""
    axis = np.fft.fftfreq(n, 1 / n)
    return np.sqrt(axis[:, None, None] ** 2 + axis[:, None] ** 2 + axis**2)


def curve_by_numpy(first, second):
    """FSC over the whole transform, in double precision."""
    n = len(first)
    a, b = (np.fft.fftn(half.astype(np.float64)) for half in (first, second))
    shells = np.rint(radii(n)).astype(int)
    sums = [
        np.bincount(shells.ravel(), values.ravel())[: n // 2]
        for values in ((a * b.conj()).real, np.abs(a) ** 2, np.abs(b) ** 2)
    ]
    return sums[0] / np.sqrt(sums[1] * sums[2])


@pytest.mark.parametrize("mask", ["spherical", "loose", "tight"])
def test_the_curve_is_that_of_numpy(make_bench, clock, mask):
    bench = make_bench()
    curve = halfmaps.prepare_fsc(bench, mask=mask).once(clock)
    maps = half_maps(bench.params.map_px, bench.seed)
    masked = [half * halfmaps.mask_of(mask, maps) for half in maps.halves]
    assert np.abs(curve - curve_by_numpy(*masked)).max() < SINGLE_PRECISION
    assert list(clock.steps) == ["put_map_on_device", "apply_mask", "fft", "shells", "get_result"]
    assert clock.steps["put_map_on_device"].amount == 2 * 4 * 48**3


def test_noise_substitution_is_that_of_numpy(make_bench, clock):
    bench = make_bench()
    curve = halfmaps.prepare_fsc(bench, mask="tight", noise_substituted=True).once(clock)
    maps = half_maps(bench.params.map_px, bench.seed)
    mask = halfmaps.mask_of("tight", maps)
    shells, _ = halfmaps.shells_of(bench.params.map_px)
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
    work, curve = done(halfmaps.prepare_fsc, mask="tight", noise_substituted=noise_substituted)
    assert work.judge(curve).right
    assert curve[1] > 0.9
    assert curve[-1] < 0.3
    assert not work.judge(curve - 0.2).right
    assert not work.judge(np.ones_like(curve)).right


def choice_by_numpy(bench):
    """The whole loop in double precision, with the filter and the neighbourhood in full."""
    maps = half_maps(bench.params.map_px, bench.seed)
    n = bench.params.map_px
    halves = [half.astype(np.float64) for half in maps.halves]
    radius = radii(n)
    neighbours = np.exp(-2 * (np.pi * halfmaps.NEIGHBOURHOOD_PX * radius / n) ** 2)

    def filtered(values, gain):
        return np.fft.ifftn(np.fft.fftn(values) * gain).real

    errors = []
    for cutoff in np.linspace(2, n / 2, bench.params.cutoffs):
        gain = (1 + (radius / cutoff) ** 8) ** -0.5
        a, b = (filtered(half, gain) for half in halves)
        errors.append(filtered((a - halves[1]) ** 2 + (b - halves[0]) ** 2, neighbours))
    return np.argmin(errors, axis=0)


def test_the_chosen_filters_are_those_of_numpy_and_keep_finer_detail_of_the_particle(
    make_bench, done
):
    work, choice = done(halfmaps.prepare_filters)
    # Where two filters are equally good, single precision may take the other one.
    assert np.mean(choice == choice_by_numpy(make_bench())) > 0.999
    assert len(np.unique(choice)) > 1
    assert work.judge(choice).right
    assert not work.judge(choice.max() - choice).right
    assert not work.judge(np.zeros_like(choice)).right


def test_maps_go_to_the_device_and_errors_come_back_for_every_filter(make_bench, done, clock):
    done(halfmaps.prepare_filters, bench=make_bench(cutoffs=5))
    n_bytes = 4 * 48**3
    assert {step.calls for step in clock.steps.values()} == {5}
    assert clock.steps["put_map_on_device"].amount == 5 * 2 * n_bytes
    assert clock.steps["get_result"].amount == 5 * n_bytes
