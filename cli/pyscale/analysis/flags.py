"""Flags: a code and a sentence for each doubt about a number."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean, median, stdev

import polars as pl

from pyscale.analysis.drift import SIZE
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.losses import GROUP

SENTENCES = {
    "few-repeats": f"Fewer than {repeats_needed()} timed trials: too few for a 95 % interval.",
    "unstable": (
        "Wall times scatter: standard deviation of 10 % of the mean or more, a trial 50 % or more "
        "away from the mean, or one further than 14.8 median absolute deviations from the median."
    ),
    "first-trial": (
        "The first trial differs from the others, which agree: it warmed something up (a page "
        "cache, a compiled kernel, a clock frequency)."
    ),
    "drift": (
        f"Wall times rose or fell by {100 * SIZE:g} % or more over the run, beyond chance; every "
        "comparison includes what changed meanwhile (temperature, other load, a filling disk)."
    ),
    "superlinear": (
        "Efficiency is above 1 by more than the trials scatter: mostly the baseline was slow (a "
        "cold start, swapping, data too large for a cache), and then every speedup is too high."
    ),
    "warm-not-cold": (
        "The input was in the page cache, though a warm cache was not requested: trials read from "
        "memory, not from storage."
    ),
    "evicted-unverified": (
        "The input was evicted from the page cache; the eviction could not be verified."
    ),
    "cache-uncontrolled": (
        "The page cache was left as it was or cannot be inspected: trials may have read from "
        "storage or from memory."
    ),
    "oversubscribed": "More workers than available processor cores.",
    "disturbed": (
        "Other work ran on the machine just before or after a trial (a task of another run, or "
        "more than the cores had room for): the trial may have shared cores, memory and storage."
    ),
    "workers-did-not-overlap": (
        "In at least one trial all workers ran together for less than half of the shortest "
        "worker's time: they shared memory and storage bandwidth less than N workers at once."
    ),
    "clocks-unknown": (
        "Workers of a trial ran on several nodes whose clocks could not be compared closely "
        "enough: start stagger, overlap, gaps and the windows of each worker are unreliable."
    ),
    "retried": "A trial succeeded only on a retry; the timing excludes it.",
    "retried-counted": "A trial succeeded only on a retry; the timing includes it, as requested.",
    "failed-trials": "A trial failed or did not finish; the timing excludes it.",
    "mixed-hardware": (
        "Trials ran on different hardware from each other or from the baseline: the machines may "
        "cause part of the difference."
    ),
    "disagrees": (
        "The output differs from the baseline's by more than the stage's tolerance: a speedup "
        "would compare two different results."
    ),
    "check-failed": (
        "The comparison with the baseline's output failed: whether the output agrees is unknown."
    ),
}

LETTERS = {
    "few-repeats": "n",
    "unstable": "u",
    "first-trial": "f",
    "drift": "d",
    "superlinear": "s",
    "warm-not-cold": "w",
    "evicted-unverified": "e",
    "cache-uncontrolled": "c",
    "oversubscribed": "o",
    "disturbed": "l",
    "workers-did-not-overlap": "v",
    "clocks-unknown": "k",
    "retried": "r",
    "retried-counted": "R",
    "failed-trials": "F",
    "mixed-hardware": "h",
    "disagrees": "D",
    "check-failed": "C",
}
"""A letter for each doubt, the same in every table."""

INVALIDATING = ("disagrees",)
"""Doubts after which a number answers another question than it was asked: the configuration did
other work than its baseline. All others are about how well a number is known."""

UNCHECKED = ("check-failed",)
"""Doubts that leave open whether a configuration is invalid."""

OF_RANKS = {
    "failed": SENTENCES["failed-trials"],
    **{code: SENTENCES[code] for code in ("retried", "retried-counted", "few-repeats")},
}
"""Doubts that tables of ranks have too, under their codes there."""

PYPERF_DEVIATION = 0.10
PYPERF_EXTREME = 0.50
HYPERFINE_DISTANCE = 14.826
TIE = 1e-9
"""Relative difference below which two wall times differ by rounding alone."""


def flag_codes(
    trials: pl.DataFrame,
    baseline: pl.DataFrame,
    *,
    drifting: bool = False,
    superlinear: bool = False,
) -> list[str]:
    """Codes of all doubts about one configuration, in the order of `SENTENCES`."""
    timed = trials.filter("valid").sort("block", "position")
    walls = timed["wall_s"].to_list()
    warmed_up = first_stands_apart(walls)
    states = set(timed["cache_state"].drop_nulls())
    # All at once: a query of its own for each doubt takes most of the time of a small table.
    of_any = timed.select(
        from_memory=(
            (pl.col("cache_state") == "warm") & pl.col("cache_asked").ne_missing("warm")
        ).any(),
        oversubscribed=pl.col("oversubscribed").any(),
        disturbed=pl.col("disturbed").any(),
        apart=(_together_beyond_half_s() < 0).any(),
        clocks=_clocks_leave_doubt().any(),
        retried=(pl.col("attempt") > 1).any(),
    ).row(0, named=True)
    of_all = trials.select(
        retried=(pl.col("complete") & ~pl.col("valid")).any(),
        failed=(~pl.col("complete")).any(),
        disagrees=(~pl.col("agreement_same")).any(),
        unchecked=pl.col("check_failed").any(),
    ).row(0, named=True)
    machines = set(timed["hardware"].explode().drop_nulls())
    base_machines = set(baseline.filter("valid")["hardware"].explode().drop_nulls())
    found = {
        "few-repeats": len(walls) < repeats_needed(),
        "unstable": is_unstable(walls[1:] if warmed_up else walls),
        "first-trial": warmed_up,
        "drift": drifting,
        "superlinear": superlinear,
        "warm-not-cold": of_any["from_memory"],
        "evicted-unverified": "evicted-unverified" in states,
        "cache-uncontrolled": bool(states & {"asis", "unsupported"}),
        "oversubscribed": of_any["oversubscribed"],
        "disturbed": of_any["disturbed"],
        "workers-did-not-overlap": of_any["apart"],
        "clocks-unknown": of_any["clocks"],
        "retried": of_all["retried"],
        "retried-counted": of_any["retried"],
        "failed-trials": of_all["failed"],
        "mixed-hardware": len(machines) > 1
        or bool(machines and base_machines and machines != base_machines),
        "disagrees": of_all["disagrees"],
        "check-failed": of_all["unchecked"],
    }
    return [code for code in SENTENCES if found[code]]


def codes_of_ranks(trials: pl.DataFrame) -> dict[str, bool]:
    """Which of `OF_RANKS`, and of two more, hold of a configuration's trials by ranks."""
    counted = trials.filter("valid")
    return {
        "failed": not trials["complete"].all(),
        "retried": not trials.filter(pl.col("complete") & ~pl.col("valid")).is_empty(),
        "retried-counted": not counted.filter(pl.col("attempt") > 1).is_empty(),
        "few-repeats": 0 < counted.height < repeats_needed(),
        "disturbed": bool(counted["disturbed"].any()),
        "mixed-hardware": len(set(counted["hardware"].explode().drop_nulls())) > 1,
    }


def is_invalid(codes: Collection[str]) -> bool:
    """Whether a configuration with these doubts must not be compared with its baseline."""
    return not set(INVALIDATING).isdisjoint(codes)


def without_invalid(trials: pl.DataFrame, configurations: pl.DataFrame) -> pl.DataFrame:
    """Leave out the trials of invalid configurations.

    Parameters
    ----------
    trials : polars.DataFrame
        As `pyscale.analysis.trials.trial_table` gives them.
    configurations : polars.DataFrame
        As `pyscale.analysis.scaling.configurations` gives them for these trials.
    """
    one = [*GROUP, "workers"]
    invalid = configurations.filter("invalid").select(one)
    return trials.join(invalid, on=one, how="anti", nulls_equal=True, maintain_order="left")


def _together_beyond_half_s() -> pl.Expr:
    """Time in which all workers ran, beyond half of the shortest worker's."""
    return pl.col("overlap") * pl.col("slowest_s") - 0.5 * pl.col("shortest_s")


def _clocks_leave_doubt() -> pl.Expr:
    """Whether clocks could be wrong by so much that the verdict on overlap were another."""
    error_s = pl.col("clock_error_s")
    several = pl.col("nodes") > 1
    in_doubt = (pl.col("workers") > 1) & (_together_beyond_half_s().abs() <= error_s)
    return several & (error_s.is_null() | in_doubt)


def is_unstable(values: Sequence[float]) -> bool:
    """Tell whether repeats scatter too much, by the rules of pyperf and of hyperfine.

    pyperf: sample standard deviation of 10 % of the mean or more, or an extreme 50 % or more
    away from the mean. hyperfine: a value further than 14.826 median absolute deviations
    from the median. One value scatters not at all.
    """
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
