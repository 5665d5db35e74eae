"""Scaling laws fitted to the trials of a curve: Amdahl's and the universal scalability law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from pyscale.analysis.blockmeans import Means, block_means
from pyscale.analysis.doubts import TIE
from pyscale.analysis.growth import ScalingKind, curve_work
from pyscale.analysis.intervals import CONFIDENCE, Array
from pyscale.analysis.laws import (
    LEAST_DEGREES,
    OUTSIDE,
    POOR_FIT,
    Fit,
    LawName,
    OnLaw,
    Parameter,
    Residual,
    refusal,
)
from pyscale.analysis.leastsquares import TIMED_TO, UPPER, Scatter, Solution, scatter_of, solve
from pyscale.analysis.losses import GROUP, OfCurve
from pyscale.analysis.optimum import held_against, optimum

LINE_POINTS = 25
"""At which a law and its band are given."""
SHAPE: dict[LawName, tuple[str, ...]] = {"amdahl": ("f",), "usl": ("sigma", "kappa")}
"""Parameters beside T1 or lambda."""

OUTSIDE_CONFIDENCE = 0.99
"""A parameter is outside its range where this interval is: 95 % would refuse one in 40 curves that
lie on the end of the range, as a perfectly linear one does."""


class CurveFits(OfCurve):
    """Both laws for one curve."""

    amdahl: Fit = Field(description="T(N) = T1 (f + (1 - f) / N)")
    usl: Fit = Field(
        description="X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), where T = 1 / X"
    )


def curve_fits(trials: pl.DataFrame, *, interleaved: bool = True) -> list[CurveFits]:
    """Fit both laws to every curve, in the order of the table.

    Where the work grows with N the times are those for as much work as the baseline's. Trials of
    invalid configurations must not be given (see `pyscale.analysis.flags.without_invalid`).
    `interleaved` is whether equal blocks ran close in time: what a block shares is then no scatter.
    """
    found = []
    for key, curve in trials.filter("valid").group_by(GROUP, maintain_order=True):
        work, workers = curve_work(curve), curve["workers"].to_list()
        wall_s = [
            wall_s / work.growth(count)
            for wall_s, count in zip(curve["wall_s"], workers, strict=True)
        ]
        data = block_means(workers, wall_s, curve["block"].to_list() if interleaved else None)
        named = dict(zip(GROUP, key, strict=True))
        found.append(CurveFits(**named, **_both(data, work.kind)))
    return found


class RankFits(NamedTuple):
    """Both laws for the ranks of one entry."""

    stage: str
    amdahl: Fit
    usl: Fit


def rank_fits(trials: pl.DataFrame, seconds: pl.Expr, scaling: ScalingKind) -> tuple[RankFits, ...]:
    """Fit both laws to the ranks of every entry, in the order of the table.

    `seconds` are those that all ranks together take for as much work at every N.
    """
    found = []
    timed = trials.filter("valid").with_columns(_seconds=seconds)
    for (stage,), own in timed.group_by("stage", maintain_order=True):
        data = block_means(*(own[name].to_list() for name in ("workers", "_seconds", "block")))
        found.append(RankFits(str(stage), **_both(data, scaling)))
    return tuple(found)


def fit(
    law: LawName,
    workers: Sequence[int],
    wall_s: Sequence[float],
    *,
    blocks: Sequence[int] | None = None,
    scaling: ScalingKind | None = None,
) -> Fit:
    """Fit a law by least squares on the logarithm of the wall times.

    With `h = 1 + sigma (N - 1) + kappa N (N - 1)` the universal scalability law (Gunther 2007,
    Guerrilla Capacity Planning, chapter 4) is `T = h / (lambda N)`, and Amdahl's (1967, AFIPS
    30:483) is the same with kappa = 0, sigma = f and lambda = 1/T1. T1 and lambda are fitted too,
    so a curve that starts at N0 > 1 is fitted as it is.

    Every trial enters, by the means of `pyscale.analysis.blockmeans`, weighted as their covariance
    asks. The intervals are Student's, from the Jacobian of the fit *without* bounds, cut at the
    bounds; where the best values lie outside, the law is fitted again within them. Where a whole 99
    % interval lies outside, the fit is refused: a superlinear curve is not made to look linear.
    Where only the 95 % one does, its end is the 99 % one's.

    Where the law misses the means by more than the trials scatter (F test of lack of fit, 5 %) the
    misses are the error, and values of N less parameters their degrees of freedom. A law that
    misses by more than `POOR_FIT`, and by more than the trials scatter where that is known, is
    refused, and so is Amdahl's where `scaling` is not strong: it is about one problem. How often
    the intervals cover the truth is told in docs/decisions, intervals of fitted laws.
    """
    return _fit(law, block_means(workers, wall_s, blocks), scaling)


def _both(data: Means, scaling: ScalingKind | None) -> dict[LawName, Fit]:
    return {law: _fit(law, data, scaling) for law in SHAPE}


def _fit(law: LawName, data: Means, scaling: ScalingKind | None) -> Fit:
    # T1 is a parameter too, and one more N has to be left to show a misfit.
    needed = len(SHAPE[law]) + 2
    about: dict[str, Any] = {
        "law": law,
        "counts": data.workers.tolist(),
        "trials": int(data.trials.sum()),
        "superlinear_at": _superlinear(data),
    }
    if law == "amdahl" and scaling in {"weak", "mixed"}:
        how = "grew with N" if scaling == "weak" else "differed between N"
        return _refused(about, "problem-grew", how=how)
    if len(data.workers) < needed:
        return _refused(about, "few-counts", needed=needed, counts=len(data.workers))
    # Those that the law leaves of the means, and those of the trials about them.
    degrees = len(data.workers) - needed + 1 + data.degrees
    if degrees < LEAST_DEGREES:
        left = f"{degrees} degree{'s' * (degrees != 1)}"
        return _refused(about, "few-degrees", degrees=left, least=LEAST_DEGREES)
    return _fitted(law, data, about)


def _fitted(law: LawName, data: Means, about: dict[str, Any]) -> Fit:
    names, uppers = SHAPE[law], UPPER[: len(SHAPE[law])]
    free = solve(data, len(names), bounded=False)
    scatter = scatter_of(data, free)
    about |= {
        "within_scatter": scatter.within_scatter,
        "degrees_of_freedom": scatter.degrees,
        "residual_sd": scatter.sd,
        "residuals": _residuals(data, free),
    }
    if poor := _poor(about, scatter, data):
        return poor
    if scatter.degrees < LEAST_DEGREES:
        return _refused(about, "misfit", miss=100 * scatter.miss, counts=len(data.workers))
    if free.spread is None:
        return _refused(about, "undetermined")
    covariance = free.spread * max(scatter.sd, TIMED_TO) ** 2
    lows, highs = _reach(free, covariance, scatter.degrees, CONFIDENCE)
    far_lows, far_highs = _reach(free, covariance, scatter.degrees, OUTSIDE_CONFIDENCE)
    for name, low, high, upper in zip(names, far_lows[1:], far_highs[1:], uppers, strict=True):
        if high < 0 or low > upper:
            code, what = OUTSIDE[name, low > 0]
            return _refused(about, code, name=name, low=low, high=high, what=what)
    allowed = ((free.values[1:] >= 0) & (free.values[1:] <= uppers)).all()
    best = free if allowed else solve(data, len(names), bounded=True)
    # Held within its ranges, a law may miss by more than it did without.
    if poor := _poor(about, scatter_of(data, best), data):
        return poor
    # Where only the 99 % interval reaches into the range, its end is taken.
    lows[1:] = np.where(lows[1:] > uppers, far_lows[1:], lows[1:])
    highs[1:] = np.where(highs[1:] < 0, far_highs[1:], highs[1:])
    # Blocks move all N alike, which is T1's alone.
    level = _quantile(scatter.degrees, CONFIDENCE) * np.sqrt(covariance[0, 0] + data.level_variance)
    lows[0], highs[0] = free.values[0] - level, free.values[0] + level
    # A best value that was moved into its range may move the others past their ends.
    lows, highs = np.minimum(lows, best.values), np.maximum(highs, best.values)
    shape = {
        name: Parameter(
            value=value,
            low=max(low, 0.0),
            high=min(high, upper),
            at_bound=not allowed and value in {0.0, upper},
        )
        for name, value, low, high, upper in zip(
            names, best.values[1:], lows[1:], highs[1:], uppers, strict=True
        )
    }
    about |= {
        "residuals": _residuals(data, best),
        "line": _line(best.values, covariance, data, scatter.degrees),
        "parameters": _first(law, best.values[0], lows[0], highs[0]) | shape,
    }
    if law == "amdahl":
        return Fit(**about)
    best_n = optimum(
        best.values[1:],
        free.values[1:],
        covariance=covariance[1:, 1:],
        quantile=_quantile(scatter.degrees, CONFIDENCE),
        counts=about["counts"],
    )
    # Of a law that holds some mean strays too, by chance.
    strays = scatter.within_scatter is False
    alone = max(data.squares / data.degrees, TIMED_TO**2) ** 0.5 if strays else None
    about["optimum"] = held_against(best_n, about["residuals"], alone)
    return Fit(**about)


def _poor(about: dict[str, Any], scatter: Scatter, data: Means) -> Fit | None:
    """Refuse a law that misses by too much, and by more than the trials scatter if known."""
    if scatter.miss <= POOR_FIT or scatter.within_scatter:
        return None
    why = (
        "more than the trials scatter: it does not describe this curve."
        if data.degrees > 0
        else "with one trial at each N this may be noise or another law: time more trials."
    )
    return _refused(about, "poor-fit", miss=100 * scatter.miss, limit=100 * POOR_FIT, why=why)


def _reach(
    free: Solution, covariance: Array, degrees: int, confidence: float
) -> tuple[Array, Array]:
    """Ends of Student's intervals."""
    reach = _quantile(degrees, confidence) * np.sqrt(np.diag(covariance))
    return free.values - reach, free.values + reach


def _quantile(degrees: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + confidence) / 2))


def _first(law: LawName, log_t1: float, low: float, high: float) -> dict[str, Parameter]:
    """T1, or lambda = 1/T1, from the logarithm of T1 and its ends."""
    name, logs = "t1_s", (low, log_t1, high)
    if law == "usl":
        name, logs = "lambda_per_s", (-high, -log_t1, -low)
    # An end that floating point cannot hold is infinite.
    with np.errstate(over="ignore"):
        ends = np.exp(logs).tolist()
    return {name: Parameter(value=ends[1], low=ends[0], high=ends[2], at_bound=False)}


def _residuals(data: Means, found: Solution) -> tuple[Residual, ...]:
    rows = zip(data.workers, data.trials, data.log_s, found.residuals, strict=True)
    return tuple(
        Residual(
            workers=int(workers),
            trials=int(trials),
            wall_s=float(np.exp(mean)),
            fitted_s=float(np.exp(mean - missed)),
            log_ratio=float(missed),
        )
        for workers, trials, mean, missed in rows
    )


def _line(values: Array, covariance: Array, data: Means, degrees: int) -> tuple[OnLaw, ...]:
    """Follow a law over N; the band is Student's, by the delta method on the logarithm."""
    workers = np.geomspace(data.workers[0], data.workers[-1], LINE_POINTS)
    columns = np.stack((workers - 1, workers * (workers - 1)), axis=1)[:, : len(values) - 1]
    height = 1 + columns @ values[1:]
    # Derivatives of ln T by ln T1, and by each parameter of the shape.
    slopes = np.column_stack((np.ones_like(height), columns / height[:, None]))
    log_s = values[0] + np.log(height) - np.log(workers)

    def reach(of: Array, level_variance: float) -> Array:
        variance = np.einsum("ni,ij,nj->n", of, covariance, of) + level_variance
        # Rounding may leave a variance of 0 a little below it.
        found: Array = _quantile(degrees, CONFIDENCE) * np.sqrt(variance.clip(min=0))
        return found

    # A speedup is between two N of one law: T1 and the level of the blocks cancel.
    wide, narrow = reach(slopes, data.level_variance), reach(slopes - slopes[0], 0.0)
    gained = log_s[0] - log_s
    columns_of = (log_s, log_s - wide, log_s + wide, gained, gained - narrow, gained + narrow)
    with np.errstate(over="ignore"):
        told_of = np.exp(columns_of)
    if not np.isfinite(told_of).all():
        return ()
    rows = zip(workers, *told_of, strict=True)
    names = [f"{name}{end}" for name in ("wall_s", "speedup") for end in ("", "_low", "_high")]
    return tuple(
        OnLaw(workers=float(at), **dict(zip(names, map(float, told), strict=True)))
        for at, *told in rows
    )


def _superlinear(data: Means) -> list[int]:
    """Every N at which the mean efficiency is above 1."""
    held = np.exp(data.log_s) * data.workers
    found: list[int] = data.workers[held < held[0] * (1 - TIE)].tolist()
    return found


def _refused(about: dict[str, Any], code: str, **numbers: Any) -> Fit:
    return Fit(**about, refusal=refusal(code, about["law"], **numbers))
