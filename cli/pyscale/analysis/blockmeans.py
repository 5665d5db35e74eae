"""Mean logarithm of the wall time at each N, with blocks and outliers taken out."""

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
