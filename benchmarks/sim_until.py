"""Simulation: how often intervals hold the truth where a run ends as soon as they are narrow.

Looking at intervals again and again, and ending at the first that is narrow, is optional stopping:
it ends where an interval is narrow by chance. Blocks of two arms with a known ratio are drawn by
four models of noise. A run ends when the interval of the ratio, by the function that the report
uses, is narrow after any block, or at two of pyscale's looks in a row. A second table asks for the
fastest N of a flat curve, with the blocks at which such a run ends.

Seeded; some minutes on one core.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from pyscale.analysis import intervals
from pyscale.analysis.advice import Aim, choices
from pyscale.analysis.intervals import ratio_interval, repeats_needed
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.measuring.blocks import is_look
from sim_advice import Array, Noise, by_block, lognormal, with_outliers

SEED = 20_261_128
RATIO = 2.0
MOST = 30
"""Blocks after which the time of a run is over."""
UNTIL = (0.05, 0.02)
RUNS, TABLES = 1_000, 200
RESAMPLES = 999
"""Fewer than pyscale draws, so that this takes minutes."""
NOISE: dict[str, Noise] = {
    "lognormal 2 %": lognormal(0.02),
    "lognormal 5 %": lognormal(0.05),
    "2 %, outliers": with_outliers,
    "blocks 8 %, 2 %": by_block,
}
LOOKS: dict[str, tuple[Callable[[int], bool], int]] = {
    "after each block": (lambda blocks: blocks >= repeats_needed(), 1),
    "as pyscale looks": (is_look, 2),
}
"""After which blocks a run looks, and at how many looks in a row the interval must be narrow."""


def main() -> None:
    """Print both tables."""
    intervals.RESAMPLES = RESAMPLES
    random = np.random.default_rng(SEED)
    print(f"{RUNS} runs each: blocks until the interval of a ratio is within so much of it")
    print(
        f"{'noise':<18}{'until':>6}  {'looks':<18}{'blocks':>7}{'narrow':>8}{'holds the truth':>17}"
    )
    for name, noise in NOISE.items():
        for until in UNTIL:
            for look, (is_one, in_a_row) in LOOKS.items():
                blocks, narrow, holds = [], [], []
                for _ in range(RUNS):
                    drawn = noise(random, (MOST, 2)) * (RATIO, 1.0)
                    end, is_narrow = ended(drawn, until, is_one, in_a_row)
                    low, high, _ = interval(drawn[:end])
                    blocks.append(end)
                    narrow.append(is_narrow)
                    holds.append(low <= RATIO <= high)
                print(
                    f"{name:<18}{100 * until:>5.0f}%  {look:<18}{np.median(blocks):>7.0f}"
                    f"{np.mean(narrow):>8.2f}{np.mean(holds):>17.3f}",
                    flush=True,
                )
    print(f"\n{TABLES} flat curves each, N = 1, 2, until 5 %: share told as N = 1, sure of another")
    for name, noise in NOISE.items():
        found = [_flat(random, noise) for _ in range(TABLES)]
        print(
            f"{name:<18}{np.mean([workers == 1 for workers, _ in found]):>6.2f}"
            f"{np.mean([sure and workers != 1 for workers, sure in found]):>8.3f}",
            flush=True,
        )


def interval(drawn: Array) -> tuple[float, float, float]:
    """Both ends of the interval of the ratio of two arms, and that ratio."""
    top, bottom = drawn.T.tolist()
    found = ratio_interval(top, bottom, paired=True)
    assert found is not None
    return found.low, found.high, float(np.median(top) / np.median(bottom))


def ended(
    drawn: Array, until: float, is_one: Callable[[int], bool], in_a_row: int
) -> tuple[int, bool]:
    """Blocks after which a run ends, and whether its interval was narrow enough by then."""
    row = 0
    for blocks in filter(is_one, range(1, MOST + 1)):
        low, high, ratio = interval(drawn[:blocks])
        row = row + 1 if (high - low) / 2 <= until * ratio else 0
        if row == in_a_row:
            return blocks, True
    return MOST, False


def _flat(random: np.random.Generator, noise: Noise) -> tuple[int, bool]:
    """The N that is told as the fastest of a curve that is flat, and whether that is sure."""
    drawn = noise(random, (MOST, 2))
    blocks, _ = ended(drawn, UNTIL[0], is_look, in_a_row=2)
    table = trials_from_wall_times(
        pl.DataFrame(
            [
                {"stage": "a", "workers": workers, "repeat": block, "wall_s": wall_s}
                for block, row in enumerate(drawn[:blocks].tolist())
                for workers, wall_s in enumerate(row, start=1)
            ]
        )
    )
    (choice,) = choices(configurations(table), table, aims=[Aim(objective="fastest")])
    assert choice.workers is not None
    return choice.workers, choice.sureness == "sure"


if __name__ == "__main__":
    main()
