"""Claim: the interval of a speedup of 20,000 trials needs no resample written down trial by trial.

Each interval is found by drawing every trial of every resample, 999 times, and as pyscale does:
from the law of the middle ranks where arms are drawn by themselves, which takes 20 times less or
better, and from how often each block is drawn where they are paired, which takes half or less. Both
intervals must be as wide.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from paired import compare
from pyscale.analysis.intervals import LEAST_RESAMPLES, ratio_interval

CASES = ((20_000, False, 20.0), (20_000, True, 2.0))
"""Trials of an arm, whether blocks pair them, and how many times as fast it must be."""
REPEATS = 5
SAME_WIDTH = 0.15
"""Ends from 999 resamples vary: each has a standard error of 4 % of the width."""


def main() -> int:
    """Print seconds of both ways; fail where one is not fast enough or not the same."""
    failures = []
    for trials, paired, bar in CASES:
        base, own = np.random.default_rng(0).lognormal(0, 0.03, (2, trials))
        name = f"{trials} {'paired blocks' if paired else 'trials an arm'}"
        ways = (
            partial(one_by_one, base, own, paired=paired),
            partial(ratio_interval, base, own, paired=paired),
        )
        names = (f"{name}, one by one", f"{name}, pyscale")
        first, second = compare(names, ways, repeats=REPEATS)
        if np.median(first) < bar * np.median(second):
            failures.append(f"{name}: not {bar:g} times as fast")
        (low, high), found = one_by_one(base, own, paired=paired), ways[1]()
        assert found is not None
        width = (found.high - found.low) / (high - low)
        print(f"{name}: width over that of one by one {width:.3f}")
        if abs(width - 1) > SAME_WIDTH:
            failures.append(f"{name}: the interval is another")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


def one_by_one(base: np.ndarray, own: np.ndarray, *, paired: bool) -> np.ndarray:
    """Ends of the interval from resamples that are drawn trial by trial."""
    random = np.random.default_rng(0)
    size = len(base)
    ratios = np.empty(LEAST_RESAMPLES)
    for place in range(LEAST_RESAMPLES):
        drawn = random.integers(size, size=size)
        other = drawn if paired else random.integers(size, size=size)
        ratios[place] = np.median(base[drawn]) / np.median(own[other])
    return np.quantile(ratios, [0.025, 0.975])


if __name__ == "__main__":
    sys.exit(main())
