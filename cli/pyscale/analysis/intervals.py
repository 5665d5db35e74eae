"""Intervals of a median and of a ratio of two, of any distribution, and words for confidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

Array = np.ndarray[Any, Any]
CONFIDENCE = 0.95
RESAMPLES = 9999
LEAST_RESAMPLES = 999
MOST_DRAWN = 1_000_000
"""Values drawn by all resamples: more are not drawn, as long as there are enough resamples."""


class Interval(NamedTuple):
    """Two ends and how often such an interval covers the true value."""

    low: float
    high: float
    coverage: float


def with_ends(name: str, value: float | None, interval: Interval | None) -> dict[str, float | None]:
    """Columns of a number and of the ends of its interval, null where it has none."""
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def following(
    name: str, formula: Callable[[float], float], value: float, interval: Interval | None
) -> dict[str, float | None]:
    """Columns of what rises or falls with a number, its ends from those of that number's own."""
    own = None
    if interval is not None:
        # A formula that falls turns the ends round.
        low, high = sorted(map(formula, interval[:2]))
        own = Interval(low, high, interval.coverage)
    return with_ends(name, formula(value), own)


def median_with_ends(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Columns of a median and of the ends of its interval."""
    return with_ends(name, median(values) if values else None, median_interval(values))


def repeats_needed(confidence: float = CONFIDENCE) -> int:
    """Fewest repeats whose range encloses the median this often: all but `2 * 0.5**n`."""
    # The n of `2 * 0.5**n = 1 - confidence`, rounded up.
    return math.ceil(1 - math.log2(1 - confidence))


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Interval of the median between order statistics of one rank from either end; None of too few.

    The k-th smallest and k-th largest of n independent values enclose the median of any continuous
    distribution with probability `1 - 2 * P(Binomial(n, 1/2) < k)` (Hahn and Meeker, Statistical
    Intervals, section 5.2). The narrowest pair that reaches the confidence is taken, with its own
    coverage.
    """
    count = len(values)
    if count < repeats_needed(confidence):
        return None
    ordered = sorted(values)
    rank, coverage = _median_ranks(count, confidence)
    return Interval(ordered[rank - 1], ordered[count - rank], coverage)


@cache
def _median_ranks(count: int, confidence: float) -> tuple[int, float]:
    """Rank from either end that encloses the median of so many values, and how often it does."""
    # scipy.stats takes half a second to import.
    from scipy.special import bdtr

    # Rank 1 reaches the confidence here, and coverage falls as the rank rises.
    coverages = 1 - 2 * bdtr(np.arange(count // 2), count, 0.5)
    rank = int((coverages >= confidence).sum())
    return rank, float(coverages[rank - 1])


def resamples(trials: int) -> int:
    """Number of resamples for so many blocks: fewer where there are more than 100.

    At least 999 are advised for the ends of a 95 % interval (Davison and Hinkley 1997, Bootstrap
    Methods and their Application, chapter 5).
    """
    return min(RESAMPLES, max(LEAST_RESAMPLES, MOST_DRAWN // trials))


def medians(values: Array, axis: int = -1) -> Array:
    """Medians along an axis: of many short rows in a fraction of the time of `numpy.median`."""
    count = values.shape[axis]
    ordered = np.sort(values, axis=axis)
    low = ordered.take((count - 1) // 2, axis=axis)
    return np.asarray(low if count % 2 else (low + ordered.take(count // 2, axis=axis)) / 2)


def resampled_medians(arms: Sequence[Array], *, paired: bool, seed: int = 0) -> Array:
    """Medians of bootstrap resamples of several arms, shape (resamples, arms).

    Where arms are `paired`, equal places are one block, and one draw of blocks serves all.
    """
    # Seeded, so that the same trials have the same interval in every report.
    random = np.random.default_rng(seed)
    count = resamples(max(len(arm) for arm in arms))
    together = [arms] if paired else [[arm] for arm in arms]
    return np.hstack([_medians_of_draws(own, count, random) for own in together])


def _medians_of_draws(arms: Sequence[Array], count: int, random: np.random.Generator) -> Array:
    """Medians of so many resamples of arms whose equal places are drawn together."""
    size = len(arms[0])
    # Of thousands of trials all resamples at once would fill the memory.
    most = max(1, MOST_DRAWN // size)
    draws = (
        random.integers(size, size=(min(most, count - begin), size))
        for begin in range(0, count, most)
    )
    return np.vstack([np.column_stack([medians(arm[drawn]) for arm in arms]) for drawn in draws])


def ratio_interval(
    numerator: Sequence[float],
    denominator: Sequence[float],
    *,
    paired: bool,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Interval | None:
    """Interval of `median(numerator) / median(denominator)` by the percentile bootstrap.

    Where arms are `paired`, blocks are resampled, so that drift which a block's trials share
    cancels; else each arm by itself. There is none where either arm has too few trials for an
    interval of its own median. The coverage is nominal: on 1000 simulated pairs of lognormal arms
    it was 94 % with 6 paired blocks, 96 % with 6 trials apart.
    """
    if min(len(numerator), len(denominator)) < repeats_needed(confidence):
        return None
    arms = [np.asarray(arm, dtype=float) for arm in (numerator, denominator)]
    top, bottom = resampled_medians(arms, paired=paired, seed=seed).T
    tail = (1 - confidence) / 2
    low, high = np.quantile(top / bottom, [tail, 1 - tail])
    return Interval(float(low), float(high), confidence)


def in_shared_blocks(arms: Sequence[pl.DataFrame], column: str) -> list[list[float]] | None:
    """Times of trials in the blocks that every arm has timed; None if too few for an interval."""
    by_block = [dict(arm.select("block", column).iter_rows()) for arm in arms]
    shared = sorted(set.intersection(*map(set, by_block)))
    # A block that an arm has timed twice is one key here, and then no pair.
    repeated = any(len(times) < arm.height for times, arm in zip(by_block, arms, strict=True))
    if repeated or len(shared) < repeats_needed():
        return None
    return [[times[block] for block in shared] for times in by_block]


def ratio_interval_by_block(
    numerator: pl.DataFrame,
    denominator: pl.DataFrame,
    column: str = "wall_s",
    *,
    interleaved: bool = True,
) -> Interval | None:
    """Interval of the ratio of two arms' medians, paired by the blocks that both have timed.

    A lost trial costs its block and not the pairing of all others. The interval is widened to hold
    the ratio of all trials. `interleaved` is whether equal blocks ran close in time; else nothing
    is paired. See `benchmarks/sim_advice.py` for widths and coverage.
    """
    # Resamples are drawn by place: in one order the same trials have the same interval.
    arms = [arm.sort("block") for arm in (numerator, denominator)]
    top, bottom = (arm[column].to_list() for arm in arms)
    shared = in_shared_blocks(arms, column) if interleaved else None
    found = ratio_interval(*(shared or (top, bottom)), paired=shared is not None)
    if found is None:
        return None
    ratio = median(top) / median(bottom)
    # The ratio is that of all trials, as their medians stand beside it: where blocks differ much,
    # it may lie outside of what the shared ones allow.
    return Interval(min(found.low, ratio), max(found.high, ratio), found.coverage)


Sureness = Literal["sure", "likely", "undecided", "unknown"]

SURE, LIKELY = 0.95, 0.80
"""Least shares of resamples to be called so."""


def sureness(share: float | None) -> Sureness:
    """Name a share of resamples; None, of too few trials, is unknown."""
    if share is None:
        return "unknown"
    if share >= SURE:
        return "sure"
    return "likely" if share >= LIKELY else "undecided"
