"""Scaling laws fitted to the trials of a curve: Amdahl's and the universal scalability law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from pyscale.analysis.intervals import CONFIDENCE, Array
from pyscale.analysis.losses import GROUP, OfCurve, ScalingKind, curve_work
from pyscale_stages.contract import Record

LawName = Literal["amdahl", "usl"]
SHAPE: dict[LawName, tuple[str, ...]] = {"amdahl": ("f",), "usl": ("sigma", "kappa")}
"""Parameters beside T1."""
UPPER = (1.0, np.inf)
"""Largest value of each part of a law's shape; the smallest is 0."""
LEAST_DEGREES = 2
"""Degrees of freedom below which no fit is given."""
POOR_FIT = 0.10
"""Residual standard deviation that a law may have, as a fraction of the wall times."""
MISFIT_CHANCE = 0.05
"""A law misses the means beyond the trials' scatter where chance is below this (F test)."""
BEYOND = 10.0
"""Largest value of each part of a law's shape in a fit without its range, which has to end."""
OUTSIDE_CONFIDENCE = 0.99
"""A parameter is outside its range where this interval is: 95 % would refuse one in 40 curves that
lie on the end of the range, as a perfectly linear one does."""
TIMED_TO = 1e-6
"""Relative error of any wall time: intervals of curves without noise are not narrower."""


class Refusal(Record):
    """Reason for a missing law, which laws.j2 puts into a sentence."""

    code: str = Field(description="Name of the reason, the same in every release")
    numbers: dict[str, Any] = Field({}, description="What the sentence names")


class Estimate(Record):
    """A parameter of a law with its 95 % interval, cut at the ends of what it can be."""

    value: float
    low: float
    high: float


class Fit(Record):
    """One law fitted to the trials of one curve."""

    law: LawName
    counts: tuple[int, ...] = Field(description="Every N that was measured, rising")
    trials: int = Field(description="Trials that entered the fit")
    within_scatter: bool | None = Field(
        None, description="It misses the means by no more than the trials scatter; None: not known"
    )
    parameters: dict[str, Estimate] = Field(
        {}, description="f, or sigma and kappa; none if refused"
    )
    miss: float = Field(0.0, description="Largest |ln(mean wall time / law)|")
    miss_at: int | None = Field(None, description="N of that")
    refusal: Refusal | None = Field(None, description="Why there are no parameters")


class CurveFits(OfCurve):
    """Both laws for one curve."""

    amdahl: Fit = Field(description="T(N) = T1 (f + (1 - f) / N)")
    usl: Fit = Field(description="T(N) = T1 / N (1 + sigma (N - 1) + kappa N (N - 1))")


def curve_fits(trials: pl.DataFrame, *, interleaved: bool = True) -> list[CurveFits]:
    """Fit both laws to every curve, in the order of the table.

    Where the work grows with N the times are those for as much work as the baseline's. Trials of
    invalid configurations must not be given (see `pyscale.analysis.flags.without_invalid`).
    `interleaved` is whether equal blocks ran close in time: what a block shares is then no scatter.
    """
    found = []
    for key, curve in trials.filter("valid").group_by(GROUP, maintain_order=True):
        work, workers = curve_work(curve), curve["workers"].to_list()
        walls = zip(curve["wall_s"], workers, strict=True)
        wall_s = [wall / work.growth(count) for wall, count in walls]
        blocks = curve["block"].to_list() if interleaved else None
        named = dict(zip(GROUP, key, strict=True))
        fits = {law: fit(law, workers, wall_s, blocks=blocks, scaling=work.kind) for law in SHAPE}
        found.append(CurveFits(**named, **fits))
    return found


def fit(
    law: LawName,
    workers: Sequence[int],
    wall_s: Sequence[float],
    *,
    blocks: Sequence[int] | None = None,
    scaling: ScalingKind | None = None,
) -> Fit:
    """Fit a law by least squares to the mean logarithm of the wall times at each N.

    The universal scalability law (Gunther 2007, Guerrilla Capacity Planning, chapter 4) is `T =
    T1/N (1 + sigma (N - 1) + kappa N (N - 1))`, and Amdahl's (1967, AFIPS 30:483) is the same with
    kappa = 0 and sigma = f. T1 is fitted too, so a curve that starts at N0 > 1 is fitted as it is.

    The intervals are Student's, from the covariance of the fit *without* bounds, cut at the bounds;
    where the best values lie outside, the law is fitted again within them. Where a whole 99 %
    interval lies outside, the fit is refused: a superlinear curve is not made to look linear.

    Where the law misses the means by more than the trials scatter (F test of lack of fit, 5 %) the
    misses are the error, and values of N less parameters their degrees of freedom. A law that
    misses by more than `POOR_FIT`, and by more than the trials scatter where that is known, is
    refused, and so is Amdahl's where `scaling` is not strong: it is about one problem. How often
    the intervals cover the truth is told in docs/decisions, intervals of fitted laws.
    """
    counts = tuple(sorted(set(workers)))
    found = Fit(law=law, counts=counts, trials=len(workers))
    if law == "amdahl" and scaling in {"weak", "mixed"}:
        return _refused(found, "problem-grew")
    # T1 is a parameter too, and one more N has to be left to show a misfit.
    if len(counts) < (needed := len(SHAPE[law]) + 2):
        return _refused(found, "few-counts", needed=needed, counts=len(counts))
    means = _means(np.asarray(workers), np.log(wall_s), blocks)
    # Those that the law leaves of the means, and those of the trials about them.
    if len(counts) - needed + 1 + means.degrees < LEAST_DEGREES:
        return _refused(found, "few-trials")
    return _fitted(found, means)


class _Means(NamedTuple):
    """Means of the trials of one curve at each N."""

    workers: Array
    log_s: Array
    """Mean ln(wall time) at each N; of an average block where blocks are known."""
    spread: Array
    """Standard deviation of each of `log_s` for errors of standard deviation 1."""
    squares: float
    """Sum of squared errors about the means, in as many `degrees` of freedom."""
    degrees: int


def _means(workers: Array, log_s: Array, blocks: Sequence[int] | None) -> _Means:
    """Estimate ln T at each N beside the effect that the trials of one block share."""
    counts, at = np.unique(workers, return_inverse=True)
    design = np.eye(len(counts))[at]
    if blocks is not None:
        names, block = np.unique(blocks, return_inverse=True)
        # Effects of blocks sum to 0, so that a mean is that of an average block.
        effects = np.vstack((np.eye(len(names) - 1), -np.ones(len(names) - 1)))
        both = np.hstack((design, effects[block]))
        # Blocks that do not link all N, or leave no scatter to tell, are not told apart.
        if np.linalg.matrix_rank(both) == both.shape[1] < len(log_s):
            design = both
    solved = np.linalg.lstsq(design, log_s)[0]
    squares = float(np.sum((log_s - design @ solved) ** 2))
    # With as many trials of a block at each N, as planned, their errors are independent.
    spread = np.sqrt(np.diag(np.linalg.inv(design.T @ design))[: len(counts)])
    degrees = len(log_s) - design.shape[1]
    return _Means(counts, solved[: len(counts)], spread, squares, degrees)


def _height(workers: Array, shape: Sequence[float]) -> tuple[Array, Array]:
    """What a law multiplies `T1 / N` by, and its slope over each part of the shape."""
    columns = np.stack((workers - 1, workers * (workers - 1)), axis=1)[:, : len(shape)]
    return 1 + columns @ np.asarray(shape), columns


def _log_law(workers: Array, log_t1: float, *shape: float) -> Array:
    """Logarithm of the wall time by a law; nan where it has no positive one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = log_t1 - np.log(workers) + np.log(_height(workers, shape)[0])
    return found


def _slopes(workers: Array, _log_t1: float, *shape: float) -> Array:
    height, columns = _height(workers, shape)
    return np.column_stack((np.ones(len(workers)), columns / height[:, None]))


def _solved(means: _Means, size: int, least: float, most: Sequence[float]) -> tuple[Array, Array]:
    """Parameters of a law, and their covariance for errors of standard deviation 1."""
    from scipy.optimize import curve_fit

    found: tuple[Array, Array] = curve_fit(
        _log_law,
        means.workers.astype(float),
        means.log_s,
        p0=(float(np.mean(means.log_s + np.log(means.workers))), *[0.0] * size),
        sigma=means.spread,
        absolute_sigma=True,
        bounds=((-np.inf, *[least] * size), (np.inf, *most)),
        # Unlike the others, dogbox ends on a bound and not beside it.
        method="dogbox",
        jac=_slopes,
        x_scale="jac",
        ftol=1e-12,
        xtol=1e-12,
        gtol=1e-12,
    )
    return found


class _Scatter(NamedTuple):
    """Errors of a law."""

    variance: float
    degrees: int
    within: bool | None
    """The law misses the means by no more than the trials scatter; None where not known."""
    miss: float
    """Residual standard deviation: of the means, over values of N less parameters."""

    @property
    def is_poor(self) -> bool:
        """Whether the law misses by too much, or too few N are left to tell by how much."""
        return not self.within and (self.miss > POOR_FIT or self.degrees < LEAST_DEGREES)


def _scatter(means: _Means, values: Array) -> _Scatter:
    from scipy.special import fdtrc

    missed = means.log_s - _log_law(means.workers, *values)
    degrees = len(missed) - len(values)
    miss = float(np.sqrt(np.sum(missed**2) / degrees))
    lack = float(np.sum((missed / means.spread) ** 2))
    if not means.degrees:
        return _Scatter(lack / degrees, degrees, None, miss)
    own = max(means.squares / means.degrees, TIMED_TO**2)
    if fdtrc(degrees, means.degrees, lack / degrees / own) < MISFIT_CHANCE:
        return _Scatter(lack / degrees, degrees, within=False, miss=miss)
    pooled = degrees + means.degrees
    return _Scatter((lack + means.squares) / pooled, pooled, within=True, miss=miss)


def _fitted(found: Fit, means: _Means) -> Fit:
    from scipy.special import stdtrit

    names = SHAPE[found.law]
    uppers = np.array(UPPER[: len(names)])
    try:
        free, covariance = _solved(means, len(names), -np.inf, [BEYOND] * len(names))
        allowed = ((free[1:] >= 0) & (free[1:] <= uppers)).all()
        best = free if allowed else _solved(means, len(names), 0.0, uppers.tolist())[0]
    except RuntimeError:
        # The steps do not settle.
        return _refused(found, "undetermined")
    scatter = _scatter(means, free)
    # Held within its ranges, a law may miss by more than it did without.
    for one in (scatter, _scatter(means, best)):
        if one.is_poor:
            return _refused(found, "poor-fit", miss=100 * one.miss, within=one.within)
    error = np.sqrt(np.diag(covariance)[1:] * max(scatter.variance, TIMED_TO**2))
    near, far = (
        float(stdtrit(scatter.degrees, (1 + of) / 2)) for of in (CONFIDENCE, OUTSIDE_CONFIDENCE)
    )
    own, shape = free[1:], best[1:]
    far_low, far_high = own - far * error, own + far * error
    for name, least, most, upper in zip(names, far_low, far_high, uppers, strict=True):
        if most < 0 or least > upper:
            return _refused(found, "outside", name=name, low=least, high=most)
    low, high = own - near * error, own + near * error
    # Where only the 99 % interval reaches into the range, its end is taken.
    low = np.clip(np.where(low > uppers, far_low, low), 0, shape)
    high = np.clip(np.where(high < 0, far_high, high), shape, uppers)
    if low[0] == 0 and high[0] == UPPER[0]:
        return _refused(found, "undetermined")
    missed = np.abs(means.log_s - _log_law(means.workers, *best))
    ends = zip(names, map(float, shape), map(float, low), map(float, high), strict=True)
    return found.model_copy(
        update={
            "within_scatter": scatter.within,
            "parameters": {n: Estimate(value=at, low=of, high=to) for n, at, of, to in ends},
            "miss": float(missed.max()),
            "miss_at": int(means.workers[missed.argmax()]),
        }
    )


def _refused(found: Fit, code: str, **numbers: Any) -> Fit:
    return found.model_copy(update={"refusal": Refusal(code=code, numbers=numbers)})
