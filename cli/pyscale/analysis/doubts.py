"""Doubts about trials: the conditions that raise flags of wall times, and of all work of ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, stdev

import polars as pl

from pyscale.analysis.flags import raised
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.tabledoubts import is_coarse
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
        "retried-counted": _any(counted, pl.col("attempt") > 1),
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
    mean = fmean(values)
    return (
        stdev(values) >= PYPERF_DEVIATION * mean
        or min(values) <= (1 - PYPERF_EXTREME) * mean
        or max(values) >= (1 + PYPERF_EXTREME) * mean
        or _has_outlier(values)
    )


def first_stands_apart(values: Sequence[float]) -> bool:
    """Tell whether the first value is the farthest out, and the values are stable without it."""
    if len(values) < 3 or is_unstable(values[1:]) or not is_unstable(values):
        return False
    centre = median(values)
    distances = [abs(value - centre) for value in values]
    return distances[0] == max(distances)


def _has_outlier(values: Sequence[float]) -> bool:
    """Apply hyperfine's rule; values that mostly tie have no scale to judge by."""
    centre = median(values)
    distances = [abs(value - centre) for value in values]
    deviation = median(distances)
    if deviation <= TIE * centre:
        return False
    return max(distances) > HYPERFINE_DISTANCE * deviation
