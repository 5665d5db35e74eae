"""A ceiling is found with an honest interval where there is one, and not where there is none."""

import numpy as np
import pytest

from pyscale.analysis.grid.findings import saturation

LENGTHS_PX = np.array([*range(224, 2017, 224), 2351])
AREA = LENGTHS_PX**2 / 1e6
FEW = AREA[[0, 1, 3, 5, 8]]
SEEDS = 100


def flattening(ceiling, half, area=AREA):
    return ceiling * area / (area + half)


def noisy(ratios, seed, error=0.04):
    scatter = np.random.default_rng(seed).lognormal(0, error, len(ratios))
    return list(ratios * scatter)


def test_without_noise_the_ceiling_is_found():
    found = saturation(list(AREA), list(flattening(11.4, 0.1)))
    assert found.ceiling == pytest.approx(11.4)
    assert found.low == pytest.approx(11.4, rel=1e-4)
    assert found.high == pytest.approx(11.4, rel=1e-4)
    assert found.shape == "flattens"


@pytest.mark.parametrize(
    ("sizes", "half"),
    [(AREA, 0.05), (AREA, 0.1), (AREA, 1.0), (FEW, 0.05), (FEW, 0.1)],
    ids=["ten, early", "ten", "ten, late", "five, early", "five"],
)
def test_the_interval_holds_the_ceiling_in_95_of_100_simulations(sizes, half):
    true = flattening(11.4, half, sizes)
    all_found = [saturation(list(sizes), noisy(true, seed)) for seed in range(SEEDS)]
    held = [one.low <= 11.4 <= one.high for one in all_found if one.low and one.high]
    assert len(held) == SEEDS
    # Of 100 draws at 95 %, fewer than 89 come once in a hundred.
    assert sum(held) >= 89


def test_a_noisy_curve_that_flattens_is_hardly_ever_called_logarithmic():
    shapes = [saturation(list(AREA), noisy(flattening(11.4, 0.1), s)).shape for s in range(SEEDS)]
    assert "logarithmic" not in shapes
    assert shapes.count("flattens") >= 90


@pytest.mark.parametrize(("level", "slope"), [(9.5, 1.5), (3.1, 0.35), (5.0, 1.0)])
def test_a_logarithm_is_never_called_flattening(level, slope):
    logarithm = level + slope * np.log(AREA)
    all_found = [saturation(list(AREA), noisy(logarithm, seed)) for seed in range(SEEDS)]
    shapes = [one.shape for one in all_found]
    assert "flattens" not in shapes
    assert shapes.count("logarithmic") >= 80
    for one in all_found:
        if one.shape == "logarithmic":
            assert one.ceiling is None


def test_where_both_laws_fit_alike_nothing_is_decided():
    found = saturation(list(AREA), noisy(np.full(len(AREA), 4.0), 1))
    assert found.shape == "undecided"
    assert found.ceiling == pytest.approx(4, rel=0.1)


JUMPING = np.where(np.arange(len(AREA)) % 2, 9.0, 3.0)


@pytest.mark.parametrize(
    "ratios",
    [
        flattening(11.4, 0.1)[:3],
        noisy(8.0 - AREA, 0, error=0.01),
        noisy(flattening(100.0, 50.0), 0, error=0.01),
        JUMPING,
    ],
    ids=["three sizes", "falling", "still growing like the area", "of another form"],
)
def test_ratios_that_do_not_tell_a_ceiling_have_none(ratios):
    found = saturation(list(AREA[: len(ratios)]), list(ratios))
    assert (found.ceiling, found.low, found.high) == (None, None, None)
