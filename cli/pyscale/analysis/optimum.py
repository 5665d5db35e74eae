"""N* of the universal scalability law: where more workers begin to make it slower."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyscale.analysis.intervals import Array
from pyscale.analysis.laws import Optimum, Refusal, Residual


def optimum(
    best: Array,
    free: Array,
    *,
    covariance: Array,
    quantile: float,
    counts: Sequence[int],
) -> Optimum:
    """N* = sqrt((1 - sigma) / kappa) with its interval, inside the measured range only.

    The interval is Fieller's (1954) of the ratio (1 - sigma) / kappa: every N for which `1 - sigma
    - kappa * N**2` is not distinguishable from 0. It has no upper end exactly where kappa is not
    distinguishable from 0. `best` are sigma and kappa within their ranges, `free` those without, to
    which `covariance` belongs; `quantile` is Student's t.
    """
    low, high = _fieller(free, covariance, quantile)
    ends = (_measured(low, counts), _measured(high, counts))
    last = counts[-1]
    if math.isinf(high) or best[1] == 0:
        return _refused(
            "kappa-zero",
            "kappa is not distinguishable from 0, so a maximum of speedup is not shown.",
            ends,
        )
    value = math.sqrt((1 - best[0]) / best[1])
    if value > last:
        return _refused("beyond-measured", f"N* exceeds the largest measured N ({last}).", ends)
    if value < counts[0]:
        return _refused(
            "below-measured",
            f"N* is below the smallest measured N ({counts[0]}), which was the fastest.",
            ends,
        )
    return Optimum(workers=value, low=ends[0], high=ends[1], refusal=None)


def held_against(found: Optimum, residuals: Sequence[Residual], scatter: float | None) -> Optimum:
    """Take N* back where the law misses a measured N beside it by more than its trials scatter.

    On a plateau every law of a maximum has one somewhere. `scatter` is the standard deviation of
    the logarithm of single trials, None where no miss is beyond it or no N was repeated.
    """
    if found.workers is None or scatter is None:
        return found
    at = found.workers
    below = [one for one in residuals if one.workers <= at][-1:]
    above = [one for one in residuals if one.workers >= at][:1]
    worst = max((*below, *above), key=lambda one: abs(one.log_ratio))
    if abs(worst.log_ratio) <= scatter:
        return found
    missed = f"{100 * abs(worst.log_ratio):.2g} %"
    return _refused(
        "misfit-near",
        f"the law misses N = {worst.workers}, near its maximum, by {missed}, more than the trials "
        f"scatter ({100 * scatter:.2g} %).",
        (found.low, found.high),
    )


def _refused(code: str, sentence: str, ends: tuple[float | None, float | None]) -> Optimum:
    return Optimum(
        workers=None, low=ends[0], high=ends[1], refusal=Refusal(code=code, sentence=sentence)
    )


def _measured(end: float, counts: Sequence[int]) -> float | None:
    """An end inside the measured range; one below it is the smallest N, one beyond is nothing."""
    return None if end > counts[-1] else max(end, float(counts[0]))


def _fieller(free: Array, covariance: Array, quantile: float) -> tuple[float, float]:
    """Ends of all N with `(1 - sigma - kappa N**2)**2 <= quantile**2 * its variance`."""
    gain, kappa = 1 - float(free[0]), float(free[1])
    (var_sigma, shared), (_, var_kappa) = (quantile**2 * covariance).tolist()
    # A quadratic in N**2 that is at most 0 in the interval.
    square = kappa**2 - var_kappa
    middle = gain * kappa + shared
    rest = gain**2 - var_sigma
    # 1 - sigma must be told from 0 as kappa must; without it every small N is possible.
    root = math.sqrt(max(middle**2 - square * rest, 0.0))
    # The smaller root, in the form that needs no division by `square`, which may be 0.
    low = rest / (middle + root) if rest > 0 and middle + root > 0 else 0.0
    if kappa <= 0 or square <= 0:
        return math.sqrt(low), math.inf
    return math.sqrt(low), math.sqrt(max((middle + root) / square, 0.0))
