import numpy as np
import pytest

from pyscale.analysis.laws import Residual
from pyscale.analysis.optimum import held_against, optimum

COUNTS = (1, 2, 4, 8, 16, 32)


def best_n(sigma, kappa, sd_sigma, sd_kappa, correlation=-0.5, quantile=2.5):
    shared = correlation * sd_sigma * sd_kappa
    covariance = np.array([[sd_sigma**2, shared], [shared, sd_kappa**2]])
    values = np.array([sigma, kappa])
    clipped = np.clip(values, 0, None)
    return optimum(clipped, values, covariance=covariance, quantile=quantile, counts=COUNTS)


def not_excluded(sigma, kappa, sd_sigma, sd_kappa, correlation=-0.5, quantile=2.5):
    """Every N on a fine grid whose `1 - sigma - kappa N^2` is not distinguishable from 0."""
    n = np.linspace(COUNTS[0], COUNTS[-1], 200_001)
    shared = correlation * sd_sigma * sd_kappa
    variance = sd_sigma**2 + 2 * n**2 * shared + n**4 * sd_kappa**2
    kept = n[(1 - sigma - kappa * n**2) ** 2 <= quantile**2 * variance]
    return kept.min(), kept.max()


@pytest.mark.parametrize(
    "fitted",
    [(0.05, 0.005, 0.02, 0.001), (0.3, 0.01, 0.2, 0.001), (0.9, 0.002, 0.01, 0.0001)],
)
def test_the_interval_holds_every_n_that_cannot_be_excluded(fitted):
    found = best_n(*fitted)
    assert (found.low, found.high) == pytest.approx(not_excluded(*fitted), abs=1e-3)
    assert found.workers == pytest.approx(((1 - fitted[0]) / fitted[1]) ** 0.5)


def test_a_kappa_like_0_leaves_only_a_lower_end():
    fitted = (0.05, 0.005, 0.02, 0.003)
    found = best_n(*fitted)
    assert (found.workers, found.high) == (None, None)
    assert found.low == pytest.approx(not_excluded(*fitted)[0], abs=1e-3)
    assert found.refusal.code == "kappa-zero"


def test_an_interval_begins_no_lower_than_what_was_measured():
    found = best_n(0.99, 0.001, 0.1, 0.0001)
    assert found.low == COUNTS[0]


def misses(*of_n):
    return [
        Residual(workers=n, trials=6, wall_s=1.0, fitted_s=1.0, log_ratio=ratio)
        for n, ratio in of_n
    ]


def test_no_best_n_is_told_where_the_law_misses_a_measured_one_beside_it():
    found = best_n(0.05, 0.005, 0.02, 0.001)
    assert 8 < found.workers < 16
    near = misses((4, 0.2), (8, 0.001), (16, -0.05), (32, 0.2))
    taken_back = held_against(found, near, 0.01)
    assert (taken_back.workers, taken_back.refusal.code) == (None, "misfit-near")
    assert taken_back.refusal.sentence == (
        "the law misses N = 16, near its maximum, by 5 %, more than the trials scatter (1 %)."
    )
    # Where the trials scatter as much, and where nothing tells, the law stands.
    assert held_against(found, near, 0.05) == found
    assert held_against(found, near, None) == found
