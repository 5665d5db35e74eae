"""Mean ln(wall time) at each N, without blocks and outliers, and least squares on these means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pyscale.analysis.intervals import Array

HUBER = 1.345
"""Standard deviations from which on an error is pulled in: 95 % efficient for normal errors."""
ROBUST_FROM = 8
"""Degrees of freedom below which the scatter is too uncertain to call a trial an outlier."""
MOST_STEPS = 200
"""Each step leaves about a fifth of the distance, and at most half."""


class Means(NamedTuple):
    """Means of the trials of one curve at each N."""

    workers: Array
    """Every N, rising."""
    log_s: Array
    """Mean ln(wall time) at each N; of an average block where blocks are known."""
    trials: Array
    """Trials at each N."""
    precision: Array
    """Inverse covariance of `log_s` for errors of standard deviation 1."""
    squares: float
    """Sum of squared errors about the means, in as many `degrees` of freedom."""
    degrees: int
    level_variance: float
    """Variance that blocks add to the mean of `log_s` over N; 0 without blocks."""


def block_means(
    workers: Sequence[int], wall_s: Sequence[float], blocks: Sequence[int] | None = None
) -> Means:
    """Estimate ln T at each N from all trials of a curve.

    Trials of one block share an effect, which is estimated beside the means by least squares, so
    that it does not count as scatter. Huber's (1981, Robust Statistics, section 7.8) modified
    residuals replace the errors of outliers; the sum of squares carries his correction of the
    variance. Without blocks that connect all N, or with fewer than `ROBUST_FROM` degrees of
    freedom, the plain means are taken.
    """
    # One order for the same trials, so that sums round alike.
    order = np.lexsort((np.asarray(wall_s, dtype=float), np.asarray(workers)))
    log_s = np.log(np.asarray(wall_s, dtype=float)[order])
    counts, at, trials = np.unique(
        np.asarray(workers)[order], return_inverse=True, return_counts=True
    )
    spread = len(log_s) - len(counts)
    if blocks is not None:
        names, block = np.unique(np.asarray(blocks)[order], return_inverse=True)
        linked = _linked(at, block, trials)
        # Where blocks leave no degree of freedom, there is no scatter to tell.
        if linked is not None and spread - len(names) + 1 > 0:
            return _of_blocks(log_s, at, block, counts, linked)

    def means(values: Array) -> tuple[Array, Array]:
        found = np.bincount(at, values) / trials
        return found, found[at]

    found, squares = _robust(log_s, means, spread)
    return Means(counts, found, trials, np.diag(trials.astype(float)), squares, spread, 0.0)


def _linked(at: Array, block: Array, trials: Array) -> tuple[Array, Array] | None:
    """Trials by block and N, and what they say of differences between N; None if not of all."""
    held = np.zeros((block.max() + 1, len(trials)))
    np.add.at(held, (block, at), 1)
    differences = np.diag(trials.astype(float)) - held.T @ (held / held.sum(axis=1)[:, None])
    # Blocks that link all N leave one thing open, the level that they have in common.
    if len(held) < 2 or np.linalg.matrix_rank(differences) < len(trials) - 1:
        return None
    return held, differences


def _of_blocks(
    log_s: Array, at: Array, block: Array, counts: Array, linked: tuple[Array, Array]
) -> Means:
    """Means of an average block."""
    held, differences = linked
    # The differences say nothing of the common level, so they have no inverse but this one.
    sizes, solved = held.sum(axis=1), np.linalg.pinv(differences, hermitian=True)

    def effects(values: Array) -> tuple[Array, Array]:
        of_block = np.bincount(block, values)
        # By N, with mean 0.
        apart = solved @ (np.bincount(at, values) - held.T @ (of_block / sizes))
        of_block = (of_block - held @ apart) / sizes
        return np.append(apart, of_block), apart[at] + of_block[block]

    degrees = len(log_s) - len(counts) - len(held) + 1
    found, squares = _robust(log_s, effects, degrees)
    apart, of_block = found[: len(counts)], found[len(counts) :]
    # The common level is in T1 alone, so this part of the precision does not touch a law's shape.
    level = np.full_like(differences, len(log_s) / len(counts) ** 2)
    # Variance of a mean over blocks, less what the scatter of the trials adds to it.
    between = float(of_block.var(ddof=1)) / len(held) - squares / degrees / len(log_s)
    return Means(
        counts,
        apart + of_block.mean(),
        held.sum(axis=0).astype(int),
        differences + level,
        squares,
        degrees,
        max(between, 0.0),
    )


def _robust(
    log_s: Array, effects: Callable[[Array], tuple[Array, Array]], degrees: int
) -> tuple[Array, float]:
    """Effects by Huber's modified residuals, and their corrected sum of squared errors."""
    found, fitted = effects(log_s)
    if degrees >= ROBUST_FROM:
        for _ in range(MOST_STEPS):
            errors = log_s - fitted
            # The median deviation of normal errors is 0.6745 standard deviations.
            # Fitting leaves errors smaller than they are, by the root of this share of degrees.
            reach = HUBER * np.median(np.abs(errors)) / 0.6745 * np.sqrt(len(log_s) / degrees)
            pulled = np.clip(errors, -reach, reach)
            before, (found, fitted) = fitted, effects(fitted + pulled)
            if np.abs(fitted - before).max() <= 1e-9 * reach:
                # Where most errors are 0 the reach is too, and none is inside.
                inside = float((np.abs(errors) < reach).mean()) or 1.0
                lost = 1 + (1 - degrees / len(log_s)) * (1 - inside) / inside
                return found, float(np.sum(pulled**2)) * (lost / inside) ** 2
    # Too few trials to call one an outlier, or steps that do not settle: all count in full.
    found, fitted = effects(log_s)
    return found, float(np.sum((log_s - fitted) ** 2))


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
    """Root mean square over N of the mean residual, by the degrees of freedom left."""


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
    from scipy.stats import f

    law_degrees = len(data.workers) - len(found.values)
    miss = float(np.sqrt(np.sum(found.residuals**2) / law_degrees))
    lack = float(found.residuals @ data.precision @ found.residuals)
    pooled = float(np.sqrt((lack + data.squares) / (law_degrees + data.degrees)))
    if not data.degrees:
        return Scatter(pooled, law_degrees, None, miss)
    scatter = max(data.squares / data.degrees, TIMED_TO**2)
    if f.sf(lack / law_degrees / scatter, law_degrees, data.degrees) >= MISFIT_CHANCE:
        return Scatter(pooled, law_degrees + data.degrees, True, miss)
    return Scatter(float(np.sqrt(lack / law_degrees)), law_degrees, False, miss)
