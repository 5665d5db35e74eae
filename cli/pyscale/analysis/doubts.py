"""Doubts about trials: conditions of flags, drift over a run, and coarse times of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import fmean, median, stdev
from typing import Any

import numpy as np
import polars as pl

from pyscale.analysis.flags import SHARES, raised
from pyscale.analysis.intervals import CONFIDENCE, Interval, repeats_needed
from pyscale.analysis.losses import GROUP
from pyscale.analysis.workers import CLOCK_TOLERANCE_S

PYPERF_DEVIATION = 0.10
PYPERF_EXTREME = 0.50
# Ten standard deviations of normal times, each 1.4826 median absolute deviations.
HYPERFINE_DISTANCE = 14.826
NEVER = 0.01
"""Of the shortest worker's time: a time together below it is none."""
TIE = 1e-9
"""Relative difference below which two wall times differ by rounding alone."""


def flag_codes(
    trials: pl.DataFrame,
    baseline: pl.DataFrame,
    *,
    drifting: bool = False,
    superlinear: bool = False,
) -> list[str]:
    """Codes of all doubts about one configuration, in the order of `FLAGS`."""
    timed = trials.filter("valid").sort("block", "position")
    walls = timed["wall_s"].to_list()
    warmed_up = first_stands_apart(walls)
    in_turn = _in_turn(timed)
    found = {
        # A first trial that stands apart has a flag of its own, and is no scatter.
        **flags_of_any(trials, walls[1:] if warmed_up else walls, baseline.filter("valid")),
        **cache_flags(timed),
        "few-repeats": len(walls) < repeats_needed(),
        "first-trial": warmed_up,
        "drift": drifting,
        "in-a-row": _any(timed, pl.col("in_a_row")),
        "coarse-times": is_coarse(timed),
        "superlinear": superlinear,
        "workers-did-not-overlap": not in_turn and _any(timed, _LONGEST_S < _HALF_S),
        "workers-in-turn": in_turn,
        "clocks-disagree": _any(timed, pl.col("clocks_disagree")),
        "disagrees": _any(trials, ~pl.col("agreement_same")),
        "check-failed": _any(trials, pl.col("check_failed")),
    }
    return raised(found)


def cache_flags(timed: pl.DataFrame) -> dict[str, bool]:
    """Which doubts hold about the page cache that trials found."""
    found = set(zip(timed["cache_state"], timed["cache_asked"], strict=True))
    states = {state for state, _ in found}
    return {
        # Warm, where anything but warm was asked for.
        "warm-not-cold": any(state == "warm" != asked for state, asked in found),
        "evicted-unverified": "evicted-unverified" in states,
        "cache-uncontrolled": bool(states & {"asis", "unsupported"}),
    }


def flags_of_any(
    trials: pl.DataFrame, times_s: Sequence[float], base: pl.DataFrame | None = None
) -> dict[str, bool]:
    """Which doubts that all kinds have hold of trials, some of them compared with `base`."""
    counted = trials.filter("valid")
    machines, base_machines = (
        set() if table is None else set(table["hardware"].explode().drop_nulls())
        for table in (counted, base)
    )
    return {
        "failed-trials": not trials["complete"].all(),
        "retried": _any(trials, pl.col("complete") & ~pl.col("valid")),
        "few-repeats": 0 < counted.height < repeats_needed(),
        # Times of 0 alone do not scatter, though a deviation of 0 is any share of a mean of 0.
        "unstable": any(times_s) and is_unstable(times_s),
        "disturbed": bool(counted["disturbed"].any()),
        "oversubscribed": bool(counted["oversubscribed"].any()),
        "mixed-hardware": len(machines) > 1
        or bool(machines and base_machines and machines != base_machines),
    }


def _any(trials: pl.DataFrame, doubt: pl.Expr) -> bool:
    """Whether a doubt holds of any trial; what is not known is none."""
    return bool(trials.select(doubt.any()).item())


def _in_turn(timed: pl.DataFrame) -> bool:
    """Whether in half of the trials or more all workers never ran at once, by any clock."""
    never = (pl.col("workers") > 1) & (NEVER * pl.col("shortest_s") > _LONGEST_S)
    # Workers of unknown nodes may have clocks that nothing compares.
    never &= pl.col("nodes").is_not_null()
    return bool(timed.select((never.fill_null(value=False)).mean() >= 0.5).item())


# Where clocks of several nodes disagree, nothing is known of who ran at once.
_CLOCK_ERROR_S = (
    pl.when(pl.col("nodes") > 1)
    .then(pl.when("clocks_disagree").then(math.inf).otherwise(CLOCK_TOLERANCE_S))
    .otherwise(0.0)
)
_LONGEST_S = pl.col("overlap") * pl.col("slowest_s") + _CLOCK_ERROR_S
# Half of the shortest worker's time, in which all are to run.
_HALF_S = 0.5 * pl.col("shortest_s")


def is_unstable(values: Sequence[float]) -> bool:
    """Tell whether repeats scatter too much, by the rules of pyperf and of hyperfine."""
    if len(values) < 2:
        return False
    mean, centre = fmean(values), median(values)
    distances = [abs(value - centre) for value in values]
    # Values that mostly tie have no scale to judge the farthest by.
    scale = deviation if (deviation := median(distances)) > TIE * centre else math.inf
    return (
        stdev(values) >= PYPERF_DEVIATION * mean
        or min(values) <= (1 - PYPERF_EXTREME) * mean
        or max(values) >= (1 + PYPERF_EXTREME) * mean
        or max(distances) > HYPERFINE_DISTANCE * scale
    )


def first_stands_apart(values: Sequence[float]) -> bool:
    """Tell whether the first value is the farthest out, and the values are stable without it."""
    if len(values) < 3 or is_unstable(values[1:]) or not is_unstable(values):
        return False
    centre = median(values)
    distances = [abs(value - centre) for value in values]
    return distances[0] == max(distances)


SURE_DRIFT = (1 + CONFIDENCE) / 2
"""Confidence of a drift: two lines are looked at."""
LEAST_BLOCKS = 3
"""Without which nothing is said: a line and its error need as many."""


def drifting(trials: pl.DataFrame) -> set[tuple[Any, ...]]:
    """Find every curve that drifts beyond chance, each by its values of `GROUP`.

    A trial's wall time is taken relative to the median of its configuration, so that curves of any
    shape line up, and set against its position in the run. Blocks in random order are what makes
    this sound: in a run that measured all of N = 1 first, there is little to see.

    The unit is the block: its trials share what else the machine did meanwhile, so they are not
    independent, and its place and wall time are the medians of theirs. The first trials of all
    configurations are one more block. As a warm-up is no drift and may hide one, the line through
    the later blocks is looked at too where the line through all has no slope beyond chance.

    `position` is null where the order of execution is not known, and nothing is then said. How much
    drift is found is simulated in `benchmarks/sim_drift.py`.
    """
    one = [*GROUP, "workers"]
    timed = trials.filter("valid").filter(pl.len().over(one) >= 3).sort("position")
    relative = timed.with_columns(
        pl.col("wall_s") / pl.col("wall_s").median().over(one),
        is_later=pl.col("position") > pl.col("position").min().over(one),
    )
    curves = relative.partition_by(GROUP, as_dict=True)
    found: set[tuple[Any, ...]] = set()
    for key in trials.select(GROUP).unique(maintain_order=True).iter_rows():
        curve = curves.get(key)
        if curve is None or curve["position"].null_count():
            continue
        blocks = curve.group_by("is_later", "block", maintain_order=True).agg(
            pl.col("position", "wall_s").median()
        )
        slope = _slope(blocks) or _slope(blocks.filter("is_later"))
        span = curve["position"].to_list()[-1] - curve["position"].to_list()[0]
        if curve["is_later"].sum() >= repeats_needed() and abs(slope) * span >= SHARES["drift"]:
            found.add(key)
    return found


def _slope(blocks: pl.DataFrame) -> float:
    """Change per position of the line through some blocks; 0 where it may be chance."""
    from scipy.special import stdtrit

    at, level = blocks["position"].to_numpy(), blocks["wall_s"].to_numpy()
    if len(at) < LEAST_BLOCKS or np.ptp(at) == 0:
        return 0.0
    # Around 0, levels that are all the same have a slope of exactly 0.
    (slope, _), covariance = np.polyfit(at, level - level.mean(), 1, cov=True)
    quantile = stdtrit(len(at) - 2, (1 + SURE_DRIFT) / 2)
    reach = float(quantile * np.sqrt(covariance[0, 0]))
    return float(slope) if abs(slope) > reach else 0.0


STEPS_S = (1.0, 0.1, 0.01, 0.001)
"""Steps to which programs round times; Slurm's accounting has whole seconds."""
COARSE = 0.75
"""Step, as a share of the standard deviation of the trials, from which it is not small."""
NOTICEABLE = 0.01
"""Step, as a share of the wall time, from which it raises a doubt."""


def rounded_to(times_s: Sequence[float]) -> float | None:
    """Largest usual step of which all times are multiples; None where there is none."""
    for step_s in STEPS_S:
        steps = np.asarray(times_s) / step_s
        if np.allclose(steps, np.round(steps), rtol=0, atol=1e-6):
            return step_s
    return None


def coarse_step(trials: pl.DataFrame) -> float:
    """Step of the times of one configuration where it is not small beside their scatter, else 0."""
    walls_s, step_s = trials["wall_s"], trials["rounded_to_s"].max()
    if not isinstance(step_s, float) or len(walls_s) < 2:
        return 0.0
    scatter_s = walls_s.std()
    assert isinstance(scatter_s, float)
    return step_s if step_s > COARSE * scatter_s else 0.0


def widened(interval: Interval | None, step_s: float) -> Interval | None:
    """Interval of a median of times that are rounded to a step: half of it wider on either side."""
    if interval is None or not step_s:
        return interval
    low, high, coverage = interval
    return Interval(max(0.0, low - step_s / 2), high + step_s / 2, coverage)


def widened_ratio(
    interval: Interval | None, top_s: tuple[float, float], bottom_s: tuple[float, float]
) -> Interval | None:
    """Interval of a ratio of two times, each given with its step; None where that is too coarse."""
    top, bottom = (step_s / 2 / time_s for time_s, step_s in (top_s, bottom_s))
    if interval is None or not (top or bottom):
        return interval
    if max(top, bottom) >= 1:
        return None
    low, high = (1 - top) / (1 + bottom), (1 + top) / (1 - bottom)
    return Interval(interval.low * low, interval.high * high, interval.coverage)


def is_coarse(trials: pl.DataFrame) -> bool:
    """Whether a step is neither small beside the scatter nor beside the time."""
    step_s = coarse_step(trials)
    return bool(step_s and step_s > NOTICEABLE * float(np.median(trials["wall_s"])))


def in_a_row(counts: Sequence[int]) -> bool:
    """Whether trials, whose N are given in their order, were timed one N after the other."""
    lengths = [len([*own]) for _, own in groupby(counts)]
    several = sum(length > 1 for length in lengths) > 1
    return several and len(lengths) == len({*counts})
