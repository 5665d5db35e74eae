"""Verdicts on what two sides both have, each from two samples, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from pyscale.analysis.intervals import CONFIDENCE, Interval, repeats_needed
from pyscale.analysis.ranktests import RankTest, of_arms, of_blocks

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
    belongs to it (see `pyscale.analysis.ranktests`), each with an error probability of 5 %:

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
