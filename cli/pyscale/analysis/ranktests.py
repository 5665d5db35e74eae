"""Ratio of the times of two arms, by rank tests.

The estimate and the interval are those of the test itself (Hodges and Lehmann 1963; Hollander,
Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition, sections 3.2-3.3 and 4.2-4.3): a
ratio lies outside the interval exactly where the test rejects it. So an interval that leaves 1 out
never stands beside a p-value that does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pyscale.analysis.intervals import Array, Interval

EXACT = 10_000
"""Most single ratios of which all orders are counted, which takes 50 ms; of more the normal law
is as good."""

MOST_TRIALS = 1000
"""Most trials of an arm that enter. Of a longer one these are evenly spaced from its shortest to
its longest: every pair of 50,000 against 50,000 would fill the memory."""


@dataclass(frozen=True)
class RankTest:
    """Ratio of the wall times of two arms, as tested."""

    ratios: Array
    """Single ratios, new over base, sorted, of shape (k,): how many of them exceed a value is the
    statistic of the test that this value is the true ratio."""
    at_most: Array
    """Probability of at most 0, 1, ..., k single ratios above the true one. By symmetry, those of
    at most as many below."""

    @property
    def ratio(self) -> float:
        """Hodges-Lehmann estimate: the median of the single ratios."""
        count = len(self.ratios)
        low, high = self.ratios[(count - 1) // 2], self.ratios[count // 2]
        # The mean of ratios is geometric; the root of a square would lose the last digit.
        return float(low if low == high else np.sqrt(low * high))

    @property
    def least_p(self) -> float:
        """Of the one most extreme order of these trials."""
        return float(self.at_most[0])

    def p_above(self, ratio: float) -> float:
        """One-sided test that the true ratio is larger than this one; ties speak against it."""
        return float(self.at_most[np.searchsorted(self.ratios, ratio, side="right")])

    def p_below(self, ratio: float) -> float:
        """One-sided test that the true ratio is smaller than this one; ties speak against it."""
        not_below = len(self.ratios) - np.searchsorted(self.ratios, ratio, side="left")
        return float(self.at_most[not_below])

    def interval(self, error: float) -> Interval | None:
        """Interval of the ratios that neither test rejects at this error probability each."""
        # The test rejects a ratio that has fewer single ones than this on one side.
        rank = int((self.at_most <= error).sum())
        if rank == 0:
            return None
        ends = (float(self.ratios[rank - 1]), float(self.ratios[-rank]))
        return Interval(*ends, 1 - 2 * float(self.at_most[rank - 1]))


def of_arms(base: Sequence[float], new: Sequence[float]) -> RankTest:
    """Test two arms that share nothing (Mann and Whitney 1947)."""
    arms = [_thinned(np.sort(np.asarray(arm, dtype=float))) for arm in (base, new)]
    ratios = np.sort(np.divide.outer(arms[1], arms[0]), axis=None)
    return RankTest(ratios, _law_of_arms(*map(len, arms)))


def of_blocks(base: Sequence[float], new: Sequence[float]) -> RankTest:
    """Test two arms whose equal places were timed in one block (Wilcoxon 1945, signed ranks)."""
    found = _thinned(np.sort(np.asarray(new, dtype=float) / np.asarray(base, dtype=float)))
    # Each block, and the geometric mean of each two, is a single ratio of the signed ranks.
    first, second = np.triu_indices(len(found))
    return RankTest(np.sort(np.sqrt(found[first] * found[second])), _law_of_blocks(len(found)))


def _thinned(ordered: Array) -> Array:
    if len(ordered) <= MOST_TRIALS:
        return ordered
    return ordered.take(np.linspace(0, len(ordered) - 1, MOST_TRIALS).round().astype(int))


@lru_cache
def _law_of_arms(base: int, new: int) -> Array:
    """P(at most c) by the recurrence of Mann and Whitney: the longest trial is of either arm."""
    if base * new > EXACT:
        return _normal(base * new, (base * new * (base + new + 1) / 12) ** 0.5)
    laws = [np.ones(1)] * (new + 1)
    for of_base in range(1, base + 1):
        row = [np.ones(1)]
        for of_new in range(1, new + 1):
            law = np.zeros(of_base * of_new + 1)
            # The longest is new: it exceeds every trial of the base.
            law[of_base:] += of_new * row[-1]
            law[: len(laws[of_new])] += of_base * laws[of_new]
            row.append(law / (of_base + of_new))
        laws = row
    return np.asarray(laws[new].cumsum())


@lru_cache
def _law_of_blocks(blocks: int) -> Array:
    """P(at most c): each rank from 1 to the number of blocks counts with probability 1/2."""
    count = blocks * (blocks + 1) // 2
    if count > EXACT:
        return _normal(count, (count * (2 * blocks + 1) / 12) ** 0.5)
    law = np.ones(1)
    for rank in range(1, blocks + 1):
        apart = np.zeros(rank)
        law = (np.concatenate([law, apart]) + np.concatenate([apart, law])) / 2
    return np.asarray(law.cumsum())


def _normal(count: int, deviation: float) -> Array:
    from scipy.special import ndtr

    # The statistic counts in whole steps, so that half of one is added.
    return np.asarray(ndtr((np.arange(count + 1) + 0.5 - count / 2) / deviation))
