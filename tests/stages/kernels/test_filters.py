import numpy as np

from pyscale_stages.kernels import filters
from pyscale_stages.kernels.particles import half_maps


def choice_by_numpy(bench):
    """The whole loop in double precision, with the filter and the neighbourhood in full."""
    maps = half_maps(bench.params.map_px, bench.seed)
    n = bench.params.map_px
    halves = [half.astype(np.float64) for half in maps.halves]
    axis = np.fft.fftfreq(n, 1 / n)
    radius = np.sqrt(axis[:, None, None] ** 2 + axis[:, None] ** 2 + axis**2)
    neighbours = np.exp(-2 * (np.pi * filters.NEIGHBOURHOOD_PX * radius / n) ** 2)

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
    work, choice = done(filters.prepare)
    # Where two filters are equally good, single precision may take the other one.
    assert np.mean(choice == choice_by_numpy(make_bench())) > 0.999
    assert len(np.unique(choice)) > 1
    assert work.judge(choice).right
    assert not work.judge(choice.max() - choice).right
    assert not work.judge(np.zeros_like(choice)).right


def test_maps_go_to_the_device_and_errors_come_back_for_every_filter(make_bench, done, clock):
    done(filters.prepare, bench=make_bench(cutoffs=5))
    n_bytes = 4 * 48**3
    assert {step.calls for step in clock.steps.values()} == {5}
    assert clock.steps["put_map_on_device"].amount == 5 * 2 * n_bytes
    assert clock.steps["get_result"].amount == 5 * n_bytes
