"""Simulation: what `fastest` requests where more workers gain nothing, and what a lost trial costs.

Tables with known truth are made by four models of noise and given to the functions that advise.

- Flat and stepped curves: the share of tables in which more than one worker is requested, and in
  which the N requested is over 5 % slower than the fastest in truth, by the least median alone and
  by pyscale's rule; and how often pyscale is sure.
- A lost trial: the relative width of the interval of a speedup, and how often it holds the truth,
  with all 10 blocks and with trials of the larger N missing, resampled apart and by shared blocks.

Seeded; a few minutes on one core.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale.analysis import intervals
from pyscale.analysis.advice import Aim, choices
from pyscale.analysis.intervals import ratio_interval_by_block
from pyscale.analysis.judging import MARGIN
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times

SEED = 20_261_121
WORKERS = (1, 2, 4, 8)
CURVES = {
    "flat": (10.0, 10.0, 10.0, 10.0),
    "3 % faster": (10.0, 9.7, 9.7, 9.7),
    "last 10 % faster": (10.0, 10.0, 10.0, 9.0),
}
TRIALS = (1, 6, 10)
TABLES = 200
RESAMPLES = 999
"""Fewer than pyscale draws, so that the tables take minutes: a share then has an error of 0.01."""
BLOCKS = 10
PAIRS = 400

Array = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, int]], Array]


def lognormal(scatter: float) -> Noise:
    """Independent noise of this relative size."""
    return lambda random, shape: random.lognormal(0, scatter, shape)


def with_outliers(random: np.random.Generator, shape: tuple[int, int]) -> Array:
    """2 % of noise; one trial in ten takes longer, by half on average."""
    slower = np.where(random.random(shape) < 0.1, 1 + random.exponential(0.5, shape), 1)
    return random.lognormal(0, 0.02, shape) * slower


def by_block(random: np.random.Generator, shape: tuple[int, int]) -> Array:
    """8 % of noise that all trials of a block share, and 2 % of their own."""
    return random.lognormal(0, 0.08, (shape[0], 1)) * random.lognormal(0, 0.02, shape)


NOISE = {
    "lognormal 2 %": lognormal(0.02),
    "lognormal 10 %": lognormal(0.10),
    "2 %, outliers": with_outliers,
    "blocks 8 %, 2 %": by_block,
}


def main() -> None:
    """Print both tables."""
    random = np.random.default_rng(SEED)
    print(f"`fastest` on {TABLES} tables each, N = 1, 2, 4, 8; % of tables, least median : pyscale")
    print(
        f"{'':<18}{'':<17}{'trials':>6}{'N > 1':>12}{'5 % slower':>12}{'sure':>6}{'so, N > 1':>10}"
    )
    usual = intervals.RESAMPLES
    intervals.RESAMPLES = RESAMPLES
    for curve, walls_s in CURVES.items():
        for name, noise in NOISE.items():
            for trials in TRIALS:
                print(f"{curve:<18}{name:<17}{trials:>6}{requests(random, walls_s, noise, trials)}")
    intervals.RESAMPLES = usual
    print(
        f"\nspeedup from {BLOCKS} blocks, blocks 8 %, 2 %, {PAIRS} pairs; apart : by shared blocks"
    )
    print(f"{'lost':>4}{'relative width':>18}{'holds the truth':>20}{'ratio outside':>16}")
    for lost in range(5):
        print(f"{lost:>4}{lost_trials(random, lost)}")


def requests(
    random: np.random.Generator, walls_s: tuple[float, ...], noise: Noise, trials: int
) -> str:
    """Ask for the fastest on many tables of one curve, by both rules."""
    least, chosen, sure = [], [], []
    for _ in range(TABLES):
        drawn = np.array(walls_s) * noise(random, (trials, len(walls_s)))
        least.append(int(np.median(drawn, axis=0).argmin()))
        table = trials_from_wall_times(
            pl.DataFrame(
                [
                    {"stage": "a", "workers": n, "repeat": block, "wall_s": wall_s}
                    for block, row in enumerate(drawn.tolist())
                    for n, wall_s in zip(WORKERS, row, strict=True)
                ]
            )
        )
        (choice,) = choices(configurations(table), table, aims=[Aim(objective="fastest")])
        chosen.append(WORKERS.index(choice.workers or 0))
        sure.append(choice.sureness == "sure")
    slow = np.array(walls_s) > (1 + MARGIN) * min(walls_s)
    more = [100 * float((np.array(places) > 0).mean()) for places in (least, chosen)]
    slower = [100 * float(slow[places].mean()) for places in (least, chosen)]
    wrongly = 100 * float((np.array(sure) & (np.array(chosen) > 0)).mean())
    return (
        f"{more[0]:>6.0f} :{more[1]:>4.0f}{slower[0]:>6.0f} :{slower[1]:>4.0f}"
        f"{100 * float(np.mean(sure)):>6.0f}{wrongly:>10.0f}"
    )


def lost_trials(random: np.random.Generator, lost: int) -> str:
    """Give widths, coverage and how often the printed ratio would lie outside, with trials lost."""
    widths: dict[bool, list[float]] = {True: [], False: []}
    covered: dict[bool, list[bool]] = {True: [], False: []}
    outside = []
    for _ in range(PAIRS):
        drawn = by_block(random, (BLOCKS, 2))
        has = np.sort(random.permutation(BLOCKS)[lost:])
        base = pl.DataFrame({"block": np.arange(BLOCKS), "wall_s": drawn[:, 0]})
        own = pl.DataFrame({"block": has, "wall_s": drawn[has, 1] / 2})
        for interleaved in (True, False):
            found = ratio_interval_by_block(base, own, interleaved=interleaved)
            assert found is not None
            widths[interleaved].append((found.high - found.low) / 2)
            covered[interleaved].append(found.low <= 2 <= found.high)
            if interleaved:
                ratio = float(np.median(drawn[:, 0]) / np.median(drawn[has, 1] / 2))
                # Intervals are widened to hold the ratio, which is then one of their ends.
                outside.append(ratio in (found.low, found.high))
    return (
        f"{np.median(widths[False]):>9.3f} : {np.median(widths[True]):.3f}"
        f"{100 * np.mean(covered[False]):>10.0f} : {100 * np.mean(covered[True]):.0f} %"
        f"{100 * np.mean(outside):>14.0f} %"
    )


if __name__ == "__main__":
    main()
