"""Verdicts on what two sides both have, each from two samples, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import NamedTuple

import numpy as np

from pyscale.analysis.intervals import CONFIDENCE, Array, Interval, repeats_needed

MARGIN = 0.05
"""Least change that counts, unless another is asked for: `same` allows up to 1.05 times as long,
or the 1.05th part."""

FALSE_ALARMS = 1 - CONFIDENCE
"""Error probability of each statement: of any `worse` or `slower` in a comparison where nothing
takes longer, of any `better` or `faster`, and of each single `same`."""

OTHER_WORK = "other-work"
"""Reason where N workers had not as much to do in both, so that nothing is judged."""

SIDES = ("base", "new")
Arms = Sequence[Sequence[float]]
"""Samples of base and of new of what is judged, such as wall times of one configuration."""


class Judgement(NamedTuple):
    """Verdict on two arms of one configuration."""

    verdict: str
    """`better`, `faster`, `same`, `slower`, `worse` or `not enough data`."""
    reason: str | None = None
    """Key of `reasons` where there is not enough data."""
    ratio: float | None = None
    """New over base: the estimate of the test, and of fewer than 6 trials the ratio of medians."""
    interval: Interval | None = None
    """Of the ratio. Each end is a bound that holds with 95 % confidence by itself."""
    p_adjusted: float | None = None
    """Of a difference in the ratio's direction, by Holm's method over all configurations."""
    p_beyond: float | None = None
    """Of a difference beyond the least change that counts, adjusted alike."""


def judge(
    configurations: Sequence[Arms],
    *,
    paired: bool = False,
    at_least: float = MARGIN,
) -> list[Judgement]:
    """Compare base and new in every configuration; a verdict each, in their order.

    All statements come from one rank test of the ratio of wall times and from the interval that
    belongs to it (see `RankTest`), each with an error probability of 5 %:

    - `same`: the interval lies inside `1/(1 + at_least) … 1 + at_least`, so the difference does not
      count, even where it is certain.
    - `worse`, `better`: the test tells, adjusted by Holm's method (1979) over all configurations
      that have enough trials, that the ratio lies beyond the least change that counts.
    - `slower`, `faster`: it tells, adjusted alike, that there is a difference, and not that it is
      as large as that.
    - `not enough data`: all else, with its reason (see `reasons`).

    Where no configuration takes longer, the probability that any is called `slower` or `worse` is
    at most 5 %, whatever the distribution of wall times and however configurations depend on each
    other, as long as the trials of one do not; for what else it takes see docs/decisions, what
    better, worse and same mean. With `paired` equal places of both arms are of one block.
    """
    enough = [
        place
        for place, arms in enumerate(configurations)
        if min(map(len, arms)) >= repeats_needed()
    ]
    tests = [(of_blocks if paired else of_arms)(*configurations[place]) for place in enough]
    alone = [
        _PValues(
            slower=test.p_above(1),
            worse=test.p_above(1 + at_least),
            faster=test.p_below(1),
            better=test.p_below(1 / (1 + at_least)),
        )
        for test in tests
    ]
    # Each kind of statement is a family of its own.
    together = zip(*(holm(kind) for kind in zip(*alone, strict=True)), strict=True)
    judged = {
        place: _judgement(test, own, _PValues(*adjusted), len(enough), at_least)
        for place, test, own, adjusted in zip(enough, tests, alone, together, strict=True)
    }
    return [judged.get(place) or _of_few(*arms) for place, arms in enumerate(configurations)]


def reasons(at_least: float = MARGIN, *, paired: bool = False) -> dict[str, str]:
    """Explain each reason of a `Judgement` without enough data."""
    enough = repeats_needed()
    timed = (
        f"Fewer than {enough} blocks timed both"
        if paired
        else f"Fewer than {enough} timed trials in one of the two"
    )
    more = "blocks" if paired else "trials"
    return {
        "few-trials": (f"{timed}: pyscale gives no verdict, however large the difference."),
        "many-configurations": (
            f"Too many configurations for this number of {more}: no difference, however large, "
            f"could be distinguished from chance. Time more {more} or compare fewer configurations."
        ),
        "only-alone": (
            "Different beyond chance if tested alone, but not together with all other "
            f"configurations: time more {more}."
        ),
        "unsettled": (
            "No difference beyond chance, but one of more than "
            f"{100 * at_least:g} % cannot be excluded: time more {more}."
        ),
    }


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that those <= a hold together with error probability a (Holm 1979)."""
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        # A larger p-value never has a smaller adjusted one.
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = reached
    return adjusted


class _PValues(NamedTuple):
    """One-sided p-values of one configuration: of any difference, and of one that counts."""

    slower: float
    worse: float
    faster: float
    better: float


def _of_few(base: Sequence[float], new: Sequence[float]) -> Judgement:
    ratio = median(new) / median(base) if base and new else None
    return Judgement("not enough data", "few-trials", ratio)


def _judgement(
    test: RankTest, alone: _PValues, together: _PValues, tested: int, at_least: float
) -> Judgement:
    p_alone, p_adjusted, p_beyond, told, beyond = (
        (alone.slower, together.slower, together.worse, "slower", "worse")
        if test.ratio >= 1
        else (alone.faster, together.faster, together.better, "faster", "better")
    )
    found = (test.ratio, test.interval(FALSE_ALARMS), p_adjusted, p_beyond)
    # First of all, as a difference may be certain and yet too small to count.
    if max(test.p_below(1 + at_least), test.p_above(1 / (1 + at_least))) <= FALSE_ALARMS:
        return Judgement("same", None, *found)
    if p_beyond <= FALSE_ALARMS:
        return Judgement(beyond, None, *found)
    if p_adjusted <= FALSE_ALARMS:
        return Judgement(told, None, *found)
    # Holm multiplies the smallest p-value by the number of tests: no order of trials would pass.
    if tested * test.least_p > FALSE_ALARMS:
        reason = "many-configurations"
    else:
        reason = "only-alone" if p_alone <= FALSE_ALARMS else "unsettled"
    return Judgement("not enough data", reason, *found)


EXACT = 10_000
"""Most single ratios of which all orders are counted, which takes 50 ms; of more the normal law
is as good."""

MOST_TRIALS = 1000
"""Most trials of an arm that enter. Of a longer one these are evenly spaced from its shortest to
its longest: every pair of 50,000 against 50,000 would fill the memory."""


@dataclass(frozen=True)
class RankTest:
    """Ratio of the wall times of two arms, as tested.

    The estimate and the interval are those of the test itself (Hodges and Lehmann 1963; Hollander,
    Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition, sections 3.2-3.3 and
    4.2-4.3): a ratio lies outside the interval exactly where the test rejects it. So an interval
    that leaves 1 out never stands beside a p-value that does not.
    """

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
