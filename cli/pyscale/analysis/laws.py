"""Scaling laws fitted to the trials of a curve: Amdahl's and the universal scalability law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from pyscale.analysis.growth import ScalingKind, curve_work
from pyscale.analysis.intervals import CONFIDENCE, Array
from pyscale.analysis.losses import GROUP, OfCurve
from pyscale_stages.contract import Record

LawName = Literal["amdahl", "usl"]
SHAPE: dict[LawName, tuple[str, ...]] = {"amdahl": ("f",), "usl": ("sigma", "kappa")}
"""Parameters beside T1."""
UPPER = (1.0, np.inf)
"""Largest value of each part of a law's shape; the smallest is 0."""
WRITTEN: dict[LawName, str] = {
    "amdahl": "Amdahl's law",
    "usl": "the universal scalability law",
}
REFUSALS = {
    "problem-grew": "{law} is a law of one problem; here the work differs between N.",
    "few-counts": "{law} needs at least {needed} values of N; this curve has {counts}.",
    "few-trials": "{law} needs more trials, or more values of N, to tell its error.",
    "poor-fit": "{law} misses the mean wall times by {miss:.2g} % (residual standard deviation), "
    "{beside}.",
    "outside": "{name} would be {low:.3g} to {high:.3g} (99 % interval), outside the range of "
    "{law}.",
    "undetermined": "These trials do not determine the parameters of {law}.",
}
"""Why a law is not fitted, by code."""
BESIDE = {
    False: "more than the trials scatter: it does not describe this curve",
    None: "which may be noise or another law: time more trials at each N",
}
"""What a miss is held against, by whether it is within the scatter of the trials."""

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
LINE_POINTS = 25
"""At which a law and its band are given."""


class Refusal(Record):
    """Reason for a missing law."""

    code: str = Field(description="Name of the reason, the same in every release")
    sentence: str = Field(description="The reason with its numbers, for people")


class Estimate(Record):
    """A number of a law with its 95 % interval, cut at the ends of what it can be."""

    value: float
    low: float
    high: float


class OnLaw(Record):
    """Value of a law at one N, with the ends of its 95 % band."""

    workers: float
    wall_s: float = Field(description="For as much work as the baseline's")
    wall_s_low: float
    wall_s_high: float
    speedup: float = Field(description="Over the law's own wall time at the baseline")
    speedup_low: float
    speedup_high: float


class Fit(Record):
    """One law fitted to the trials of one curve."""

    law: LawName
    counts: tuple[int, ...] = Field(description="Every N that was measured, rising")
    trials: int = Field(description="Trials that entered the fit")
    within_scatter: bool | None = Field(
        None, description="It misses the means by no more than the trials scatter; None: not known"
    )
    parameters: dict[str, Estimate] = Field(
        {}, description="t1_s (N = 1, the baseline's work) and f, or sigma and kappa"
    )
    miss: float = Field(0.0, description="Largest |ln(mean wall time / law)|")
    miss_at: int | None = Field(None, description="N of that")
    line: tuple[OnLaw, ...] = Field((), description="From N0 to the largest N; empty if refused")
    best_n: Estimate | None = Field(
        None, description="N of highest throughput, where the usl has one among those measured"
    )
    refusal: Refusal | None = Field(None, description="Why there are no parameters")


class CurveFits(OfCurve):
    """Both laws for one curve."""

    amdahl: Fit = Field(description="T(N) = T1 (f + (1 - f) / N)")
    usl: Fit = Field(description="T(N) = T1 / N (1 + sigma (N - 1) + kappa N (N - 1))")


class RankFits(NamedTuple):
    """Both laws for the ranks of one entry."""

    stage: str
    amdahl: Fit
    usl: Fit


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
        found.append(CurveFits(**named, **_both(workers, wall_s, blocks, work.kind)))
    return found


def rank_fits(trials: pl.DataFrame, seconds: pl.Expr, scaling: ScalingKind) -> tuple[RankFits, ...]:
    """Fit both laws to the ranks of every entry, in the order of the table.

    `seconds` are those that all ranks together take for as much work at every N.
    """
    found = []
    timed = trials.filter("valid").with_columns(_seconds=seconds)
    for (stage,), own in timed.group_by("stage", maintain_order=True):
        workers, wall_s, blocks = (own[name].to_list() for name in ("workers", "_seconds", "block"))
        found.append(RankFits(str(stage), **_both(workers, wall_s, blocks, scaling)))
    return tuple(found)


def _both(
    workers: Sequence[int],
    wall_s: Sequence[float],
    blocks: Sequence[int] | None,
    scaling: ScalingKind | None,
) -> dict[LawName, Fit]:
    return {law: fit(law, workers, wall_s, blocks=blocks, scaling=scaling) for law in SHAPE}


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
    level: float
    """Variance that blocks add to all of `log_s` alike, which is T1's alone."""


def _means(workers: Array, log_s: Array, blocks: Sequence[int] | None) -> _Means:
    """Estimate ln T at each N beside the effect that the trials of one block share."""
    counts, at = np.unique(workers, return_inverse=True)
    design, level = np.eye(len(counts))[at], 0.0
    if blocks is not None:
        names, block = np.unique(blocks, return_inverse=True)
        # Effects of blocks sum to 0, so that a mean is that of an average block.
        effects = np.vstack((np.eye(len(names) - 1), -np.ones(len(names) - 1)))
        both = np.hstack((design, effects[block]))
        # Blocks that do not link all N, or leave no scatter to tell, are not told apart.
        if np.linalg.matrix_rank(both) == both.shape[1] < len(log_s):
            of_block = effects @ np.linalg.lstsq(both, log_s)[0][len(counts) :]
            design, level = both, float(np.var(of_block)) / max(len(names) - 1, 1)
    solved = np.linalg.lstsq(design, log_s)[0]
    squares = float(np.sum((log_s - design @ solved) ** 2))
    # With as many trials of a block at each N, as planned, their errors are independent.
    spread = np.sqrt(np.diag(np.linalg.inv(design.T @ design))[: len(counts)])
    degrees = len(log_s) - design.shape[1]
    return _Means(counts, solved[: len(counts)], spread, squares, degrees, level)


def _log_law(workers: Array, log_t1: float, *shape: float) -> Array:
    """Logarithm of the wall time by a law; nan where it has no positive one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = log_t1 - np.log(workers) + np.log(_height(workers, shape))
    return found


def _height(workers: Array, shape: Sequence[float]) -> Array:
    found: Array = 1 + _columns(workers)[:, : len(shape)] @ np.asarray(shape)
    return found


def _columns(workers: Array) -> Array:
    return np.stack((workers - 1, workers * (workers - 1)), axis=1)


def _slopes(workers: Array, _log_t1: float, *shape: float) -> Array:
    """Derivatives of `_log_law` by each parameter."""
    columns = _columns(workers)[:, : len(shape)] / _height(workers, shape)[:, None]
    return np.column_stack((np.ones(len(workers)), columns))


def _solved(means: _Means, size: int, *, bounded: bool) -> tuple[Array, Array]:
    """Parameters of a law, and their covariance for errors of standard deviation 1."""
    from scipy.optimize import curve_fit

    ends = (0.0, UPPER[:size]) if bounded else (-np.inf, [BEYOND] * size)
    found: tuple[Array, Array] = curve_fit(
        _log_law,
        means.workers.astype(float),
        means.log_s,
        p0=(float(np.mean(means.log_s + np.log(means.workers))), *[0.0] * size),
        sigma=means.spread,
        absolute_sigma=True,
        bounds=((-np.inf, *[ends[0]] * size), (np.inf, *ends[1])),
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
        free, covariance = _solved(means, len(names), bounded=False)
        allowed = ((free[1:] >= 0) & (free[1:] <= uppers)).all()
        best = free if allowed else _solved(means, len(names), bounded=True)[0]
    except RuntimeError:
        # The steps do not settle.
        return _refused(found, "undetermined")
    scatter = _scatter(means, free)
    # Held within its ranges, a law may miss by more than it did without.
    for one in (scatter, _scatter(means, best)):
        if one.is_poor:
            return _refused(found, "poor-fit", miss=100 * one.miss, beside=BESIDE[one.within])
    covariance *= max(scatter.variance, TIMED_TO**2)
    covariance[0, 0] += means.level
    error = np.sqrt(np.diag(covariance))
    near, far = (
        float(stdtrit(scatter.degrees, (1 + of) / 2)) for of in (CONFIDENCE, OUTSIDE_CONFIDENCE)
    )
    low, high = free - near * error, free + near * error
    far_low, far_high = (free - far * error)[1:], (free + far * error)[1:]
    for name, least, most, upper in zip(names, far_low, far_high, uppers, strict=True):
        if most < 0 or least > upper:
            return _refused(found, "outside", name=name, low=least, high=most)
    # Where only the 99 % interval reaches into the range, its end is taken.
    low[1:] = np.clip(np.where(low[1:] > uppers, far_low, low[1:]), 0, best[1:])
    high[1:] = np.clip(np.where(high[1:] < 0, far_high, high[1:]), best[1:], uppers)
    if low[1] == 0 and high[1] == UPPER[0]:
        return _refused(found, "undetermined")
    missed = np.abs(means.log_s - _log_law(means.workers, *best))
    ends = zip(("t1_s", *names), _told(best), _told(low), _told(high), strict=True)
    told = {name: Estimate(value=value, low=of, high=to) for name, value, of, to in ends}
    return found.model_copy(
        update={
            "within_scatter": scatter.within,
            "parameters": told,
            "miss": float(missed.max()),
            "miss_at": int(means.workers[missed.argmax()]),
            "line": _line(best, covariance, means.workers, near),
            "best_n": None if scatter.within is False else _best_n(found, told, covariance, near),
        }
    )


def _told(values: Array) -> list[float]:
    """Parameters with T1 in place of its logarithm; what floating point cannot hold is infinite."""
    with np.errstate(over="ignore"):
        return [float(np.exp(values[0])), *map(float, values[1:])]


def _best_n(
    found: Fit, told: dict[str, Estimate], covariance: Array, quantile: float
) -> Estimate | None:
    """N* = sqrt((1 - sigma) / kappa), where its interval does not end beyond the N measured.

    The interval is that of kappa / (1 - sigma), by the delta method.
    """
    first, last = found.counts[0], found.counts[-1]
    if found.law == "amdahl" or told["sigma"].value == 1:
        return None
    gain, kappa = 1 - told["sigma"].value, told["kappa"].value
    slopes = np.array([kappa / gain**2, 1 / gain])
    reach = quantile * float(np.sqrt(slopes @ covariance[1:, 1:] @ slopes))
    least, most = kappa / gain - reach, kappa / gain + reach
    if least < last**-2 or kappa > gain * first**-2:
        return None
    return Estimate(value=(gain / kappa) ** 0.5, low=max(most**-0.5, first), high=least**-0.5)


def _line(values: Array, covariance: Array, counts: Array, quantile: float) -> tuple[OnLaw, ...]:
    """Follow a law over N; the band is Student's, by the delta method on the logarithm."""
    workers = np.geomspace(counts[0], counts[-1], LINE_POINTS)
    slopes, log_s = _slopes(workers, *values), _log_law(workers, *values)
    table = {"workers": workers}
    # A speedup is between two N of one law: T1, and so the level of the blocks, cancels.
    for name, of, by in (
        ("wall_s", log_s, slopes),
        ("speedup", log_s[0] - log_s, slopes - slopes[0]),
    ):
        # Rounding may leave a variance of 0 a little below it.
        variance = np.einsum("ni,ij,nj->n", by, covariance, by).clip(min=0)
        reach = quantile * np.sqrt(variance)
        with np.errstate(over="ignore"):
            table |= {
                name: np.exp(of),
                f"{name}_low": np.exp(of - reach),
                f"{name}_high": np.exp(of + reach),
            }
    return tuple(OnLaw(**row) for row in pl.DataFrame(table).to_dicts())


def _refused(found: Fit, code: str, **numbers: Any) -> Fit:
    sentence = REFUSALS[code].format(law=WRITTEN[found.law], **numbers)
    return found.model_copy(update={"refusal": Refusal(code=code, sentence=sentence)})
