"""What a reader must know before trusting a number: a code and a sentence for each doubt."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.drift import SIZE
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.losses import GROUP

if TYPE_CHECKING:
    import polars as pl

SENTENCES = {
    "few-repeats": f"Fewer than {repeats_needed()} trials were timed, too few for a 95 % interval.",
    "unstable": (
        "Wall times scatter: standard deviation of 10 % of the mean or more, an extreme 50 % or "
        "more away from the mean, or a trial further than 14.8 median absolute deviations from "
        "the median."
    ),
    "first-trial": (
        "The first trial stands apart from the others, which agree among themselves: something "
        "(a page cache, a compiled kernel, a clock frequency) was warmed up by it."
    ),
    "drift": (
        f"Wall times rose or fell by {100 * SIZE:g} % or more over the run, beyond chance: what "
        "changed meanwhile (temperature, other load, a filling disk) is in every comparison."
    ),
    "superlinear": (
        "Efficiency is above 1 by more than the trials scatter: mostly the base case was slow (a "
        "cold start, swapping, data too large for a cache), and then every speedup over it is too "
        "high."
    ),
    "warm-not-cold": (
        "The input lay in the page cache, though nobody asked for that: reading was timed from "
        "memory, not from storage."
    ),
    "evicted-unverified": (
        "The input was evicted from the page cache, but nothing here can prove that it was gone."
    ),
    "cache-uncontrolled": (
        "The page cache was left as it was or cannot be seen: trials may have read from storage "
        "or from memory."
    ),
    "oversubscribed": "There were more workers than processor cores for them.",
    "disturbed": (
        "Other work ran on the machine just before or after a trial, a task of another run or more "
        "than the cores had room for: the trial may have shared cores, memory and storage with it."
    ),
    "workers-did-not-overlap": (
        "In at least one trial all workers ran together for less than half of the shortest "
        "worker's time, so they did not share memory and storage bandwidth as they would at once."
    ),
    "clocks-unknown": (
        "Workers of a trial ran on several nodes whose clocks could not be compared well enough: "
        "start stagger, overlap and gaps cannot be trusted, nor which of several windows were one "
        "worker's."
    ),
    "retried": "A trial succeeded only when tried again; it is left out of the timing.",
    "retried-counted": (
        "A trial succeeded only when tried again; it is counted in the timing, as was asked for."
    ),
    "failed-trials": "A trial failed or did not finish; it is left out of the timing.",
    "mixed-hardware": (
        "Trials ran on different hardware from each other or from the baseline: part of the "
        "difference may be the machines'."
    ),
    "disagrees": (
        "The output is not that of the baseline within the stage's tolerance: a speedup would "
        "compare two different results."
    ),
    "check-failed": "The comparison with the baseline's output failed: nobody knows if it agrees.",
}

INVALIDATING = ("disagrees",)
"""Doubts after which a number answers another question than it was asked: the configuration did
other work than its baseline. All others are about how well a number is known."""

UNCHECKED = ("check-failed",)
"""Doubts that leave open whether a configuration is invalid."""

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
    """Codes of all doubts about one configuration, in the order of `SENTENCES`.

    Parameters
    ----------
    trials : polars.DataFrame
        Every trial of the configuration, also those that are not timed.
    baseline : polars.DataFrame
        Every trial of the baseline of its curve.
    drifting : bool
        Whether the wall times of its curve drift (see `pyscale.analysis.drift`).
    superlinear : bool
        Whether its efficiency is above 1 (see `pyscale.analysis.scaling`).
    """
    import polars as pl

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
    import polars as pl

    return pl.col("overlap") * pl.col("slowest_s") - 0.5 * pl.col("shortest_s")


def _clocks_leave_doubt() -> pl.Expr:
    """Whether clocks could be wrong by so much that the verdict on overlap were another."""
    import polars as pl

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
    from statistics import fmean, stdev

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
    """Tell whether the first value is the farthest out, and the values are stable without it.

    Parameters
    ----------
    values : sequence of float
        In the order of execution. With fewer than three nothing can stand apart.
    """
    from statistics import median

    if len(values) < 3 or is_unstable(values[1:]) or not is_unstable(values):
        return False
    centre = median(values)
    distances = [abs(value - centre) for value in values]
    return distances[0] == max(distances)


def _has_outlier(values: Sequence[float]) -> bool:
    """Apply hyperfine's rule; values that mostly tie have no scale to judge by."""
    from statistics import median

    centre = median(values)
    distances = [abs(value - centre) for value in values]
    deviation = median(distances)
    if deviation <= TIE * centre:
        return False
    return max(distances) > HYPERFINE_DISTANCE * deviation
