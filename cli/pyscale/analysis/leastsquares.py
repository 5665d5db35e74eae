"""Least squares on the mean logarithm of wall times at each N, and how large the errors are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pyscale.analysis.blockmeans import Means
from pyscale.analysis.intervals import Array

UPPER = (1.0, float("inf"))
"""Largest value of each part of a law's shape; the smallest is 0."""
MISFIT_CHANCE = 0.05
"""A law misses the means beyond the trials' scatter where chance is below this (F test)."""
TIMED_TO = 1e-6
"""Relative error of any wall time: intervals of curves without noise are not narrower."""


class Solution(NamedTuple):
    """Parameters of `ln T = ln T1 - ln N + ln(1 + s (N - 1) + k N (N - 1))`."""

    values: Array
    """ln T1, s and, where it is fitted, k."""
    residuals: Array
    """ln(measured / law) at each N."""
    spread: Array | None
    """Covariance of the values for errors of standard deviation 1; None where it has none."""


class Scatter(NamedTuple):
    """Errors of a solution."""

    sd: float
    degrees: int
    within_scatter: bool | None
    miss: float
    """Residual standard deviation: of the means, over values of N less parameters."""


def solve(data: Means, size: int, *, bounded: bool) -> Solution:
    """Least squares on ln T; the first `size` of (N - 1, N (N - 1)) are in the law."""
    from scipy.optimize import least_squares

    workers = data.workers
    columns = np.stack((workers - 1, workers * (workers - 1)), axis=1)[:, :size]
    # Around 0 and with columns around 1, no unit and no large N costs digits.
    scale, centre = columns.max(axis=0), float(np.mean(data.log_s))
    scaled, target = columns / scale, data.log_s + np.log(workers) - centre
    upper = np.array(UPPER[:size]) * scale
    # Whitened, misses are independent and of equal weight.
    white = np.linalg.cholesky(data.precision).T

    def misses(values: Array) -> Array:
        # Where the law has no positive time the solver meets nan, and takes a shorter step.
        with np.errstate(invalid="ignore", divide="ignore"):
            missed: Array = white @ (target - values[0] - np.log(1 + scaled @ values[1:]))
        return missed

    def jacobian(values: Array) -> Array:
        height = 1 + scaled @ values[1:]
        slopes: Array = -white @ np.column_stack((np.ones_like(height), scaled / height[:, None]))
        return slopes

    start = _start(scaled, target)
    # The solver refuses a start beyond its bounds.
    if bounded:
        start[1:] = np.clip(start[1:], 0, upper)
    found = least_squares(
        misses,
        start,
        jac=jacobian,
        bounds=(np.r_[-np.inf, np.zeros(size)], np.r_[np.inf, upper])
        if bounded
        else (-np.inf, np.inf),
        # Unlike the others, dogbox ends on a bound and not beside it.
        method="dogbox" if bounded else "trf",
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    unit = np.r_[1.0, scale]
    slopes = np.asarray(found.jac)
    values = found.x / unit
    values[0] += centre
    spread = None
    # T1 has a column too, so that a full rank is one more than `size`.
    if np.linalg.matrix_rank(slopes) > size:
        inverse = np.linalg.inv(np.linalg.qr(slopes, mode="r"))
        spread = inverse @ inverse.T / np.outer(unit, unit)
    return Solution(values, np.linalg.solve(white, found.fun), spread)


def _start(scaled: Array, target: Array) -> Array:
    """Solve `T N = T1 h` by relative errors, which is linear; without it begin at `h = 1`."""
    heights = np.column_stack((np.ones(len(target)), scaled))
    linear = np.linalg.lstsq(heights / np.exp(target)[:, None], np.ones(len(target)))[0]
    if linear[0] > 0 and (heights @ linear > 0).all():
        return np.concatenate(([np.log(linear[0])], linear[1:] / linear[0]))
    return np.concatenate(([target.mean()], np.zeros(scaled.shape[1])))


def scatter_of(data: Means, found: Solution) -> Scatter:
    """Scale of the errors, and whether the law misses more than the trials scatter."""
    from scipy.special import fdtrc

    law_degrees = len(data.workers) - len(found.values)
    miss = float(np.sqrt(np.sum(found.residuals**2) / law_degrees))
    lack = float(found.residuals @ data.precision @ found.residuals)
    pooled = float(np.sqrt((lack + data.squares) / (law_degrees + data.degrees)))
    if not data.degrees:
        return Scatter(pooled, law_degrees, None, miss)
    scatter = max(data.squares / data.degrees, TIMED_TO**2)
    if fdtrc(law_degrees, data.degrees, lack / law_degrees / scatter) >= MISFIT_CHANCE:
        return Scatter(pooled, law_degrees + data.degrees, True, miss)
    return Scatter(float(np.sqrt(lack / law_degrees)), law_degrees, False, miss)
