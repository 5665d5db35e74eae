"""Configurations that are faster or slower in one set of trials than in another."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import polars as pl

from pyscale.analysis.drift import drifts
from pyscale.analysis.intervals import CONFIDENCE, Interval, repeats_needed, with_ends
from pyscale.analysis.ranktests import RankTest, of_arms, of_blocks
from pyscale.analysis.scaling import configurations

KEY = ("stage", "device", "workers")
"""Columns that name a configuration in both runs. The suite does not: its name changes no time,
and a table of wall times is named after its file."""

MARGIN = 0.05
"""Least change that counts, unless another is asked for: `same` allows up to 1.05 times as long,
or the 1.05th part."""

FALSE_ALARMS = 1 - CONFIDENCE
"""Error probability of each statement: of any `worse` or `slower` in a comparison where nothing
takes longer, of any `better` or `faster`, and of each single `same`."""

UNITS = {1000.0: "milliseconds", 60.0: "minutes", 3600.0: "hours"}
"""Units of time beside the second, by the factor between them."""

UNIT_TOLERANCE = 1.5
"""Largest factor by which a ratio may miss that of two units and still hint at them."""

OTHER_WORK = "other-work"
"""Reason where N workers had not as much to do in both, so that nothing is judged."""

Arms = tuple[Sequence[float], Sequence[float]]
"""Wall times of the base and of the new trials of one configuration."""


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
    scatter: float = 0.0,
) -> list[Judgement]:
    """Judge all configurations of a comparison together.

    All statements come from one rank test of the ratio of wall times and from the interval that
    belongs to it (see `pyscale.analysis.ranktests`), each with an error probability of 5 %:

    - `same`: the interval lies inside `1/(1 + at_least) … 1 + at_least`, so the difference does
      not count, even where it is certain.
    - `worse`, `better`: the test tells, adjusted by Holm's method (1979) over all configurations
      that have enough trials, that the ratio lies beyond the least change that counts.
    - `slower`, `faster`: it tells, adjusted alike, that there is a difference, and not that it is
      as large as that.
    - `not enough data`: all else, with its reason (see `reasons`).

    Where no configuration takes longer, the probability that any is called `slower` or `worse` is
    at most 5 %; where none takes longer by more than `at_least`, that any is called `worse`. This
    holds whatever the distribution of wall times and however configurations depend on each other,
    as long as the trials of one configuration do not, and the machine is as fast for both. In
    simulations of four configurations that did not change (benchmarks/sim_compare.py), trials
    that were correlated with the one before by 0.7 gave `slower` or `worse` in 53 % of
    comparisons and `worse` in 8 %; sessions whose speed differed by a standard deviation of 3 %
    gave 32 % and 8 %. `scatter` and `paired` are what helps against the latter.

    Parameters
    ----------
    configurations : sequence of pairs of sequences of float
        Wall times of the base and of the new trials of each.
    paired : bool
        Equal places of both arms were timed in one block, so that what slows a block cancels. Else
        the order of trials does not matter.
    at_least : float
        Least change that counts: 0.05 is 5 %.
    scatter : float
        Difference between runs of one version (see `runs_differ_by`). Only what is told to exceed
        it is a difference.

    Returns
    -------
    list of Judgement
        In the order of `configurations`.
    """
    enough = [
        place
        for place, arms in enumerate(configurations)
        if min(map(len, arms)) >= repeats_needed()
    ]
    tests = [(of_blocks if paired else of_arms)(*configurations[place]) for place in enough]
    told, counts = 1 + scatter, 1 + max(at_least, scatter)
    alone = [
        _PValues(
            slower=test.p_above(told),
            worse=test.p_above(counts),
            faster=test.p_below(1 / told),
            better=test.p_below(1 / counts),
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
        "as-runs-differ": (
            "The difference is no larger than that between runs of the same version."
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
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = reached
    return adjusted


def comparison(
    base: pl.DataFrame,
    new: pl.DataFrame,
    *,
    interleaved: bool = True,
    paired: bool = False,
    at_least: float = MARGIN,
    scatter: float = 0.0,
) -> pl.DataFrame:
    """Compare two tables of trials, configuration by configuration.

    Parameters
    ----------
    base, new : polars.DataFrame
        As `trial_table` or `trials_from_wall_times` gives them. Only timed trials enter.
    interleaved : bool
        Whether both are runs of pyscale, as `configurations` asks.
    paired : bool
        Whether equal values of `block` in both are one block, in which both were timed in
        random order. Trials of blocks that only one side timed are left out.
    at_least, scatter : float
        As `judge` takes them.

    Returns
    -------
    polars.DataFrame
        One row per configuration of either table, in the order of `base`, then of `new`;
        columns as docs/columns.md has them for benchmark_versions.csv. `verdict` is null where
        only one table has the configuration, and so are the columns of the other; see `judge`.
    """
    tables = (
        configurations(trials, interleaved=interleaved, drifts=drifts(trials))
        for trials in (base, new)
    )
    return compared(base, new, *tables, paired=paired, at_least=at_least, scatter=scatter)


def compared(
    base: pl.DataFrame,
    new: pl.DataFrame,
    base_table: pl.DataFrame,
    new_table: pl.DataFrame,
    *,
    paired: bool = False,
    at_least: float = MARGIN,
    scatter: float = 0.0,
) -> pl.DataFrame:
    """Compare two tables of trials whose configurations are summarised already."""
    sides = {"base": _by_key(base_table), "new": _by_key(new_table)}
    unlike = set(other_work(base, new).select("stage", "workers").iter_rows())
    both = [key for key in sides["base"] if key in sides["new"]]
    shared = [(stage, device, n) for stage, device, n in both if (stage, n) not in unlike]
    arms = _arms_of_blocks(base, new) if paired else _arms(base, new)
    judged = judge(
        [arms.get(key, ([], [])) for key in shared],
        paired=paired,
        at_least=at_least,
        scatter=scatter,
    )
    judgements = dict(zip(shared, judged, strict=True))
    rows: list[dict[str, Any]] = []
    for key in dict.fromkeys([*sides["base"], *sides["new"]]):
        row: dict[str, Any] = dict(zip(KEY, key, strict=True))
        for name, side in sides.items():
            own = side.get(key, {})
            row |= {f"{name}_{column}": own.get(column) for column in _OF_A_SIDE}
        if key in judgements:
            row |= cells(judgements[key])
        elif key in both:
            row["reason"] = OTHER_WORK
        rows.append(row)
    return pl.DataFrame(rows, schema=_schema())


def cells(judgement: Judgement) -> dict[str, Any]:
    """Columns of a table of comparisons that a judgement fills."""
    return {
        **with_ends("ratio", judgement.ratio, judgement.interval),
        "p_adjusted": judgement.p_adjusted,
        "p_beyond": judgement.p_beyond,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
    }


def runs_differ_by(runs: Sequence[pl.DataFrame], compared: pl.DataFrame) -> float | None:
    """Tell how far medians of the same configuration differ between runs of one version.

    Parameters
    ----------
    runs : sequence of polars.DataFrame
        Trials of each.
    compared : polars.DataFrame
        Trials whose configurations count.

    Returns
    -------
    float or None
        Largest difference of any of these configurations between any two of the runs: 0.05 where
        one took 1.05 times as long. None where no two runs have one of them.
    """
    return spread_between(
        [trials.filter("valid") for trials in runs], compared.filter("valid"), KEY, "wall_s"
    )


def spread_between(
    runs: Sequence[pl.DataFrame], compared: pl.DataFrame, key: Sequence[str], name: str
) -> float | None:
    """Tell the same of any column, in tables of what counts, by what names a configuration."""
    medians = pl.concat(
        table.group_by(key).agg(pl.col(name).median().alias("median")) for table in runs
    ).join(compared, on=key, how="semi", nulls_equal=True)
    found = pl.col("median")
    spreads = medians.group_by(key).agg(runs=pl.len(), spread=found.max() / found.min() - 1)
    largest: Any = spreads.filter(pl.col("runs") > 1)["spread"].max()
    return None if largest is None else float(largest)


def unit_between(table: pl.DataFrame) -> float | None:
    """Tell the factor between two units of time that all ratios of a comparison are close to.

    Parameters
    ----------
    table : polars.DataFrame
        As `comparison` gives it.

    Returns
    -------
    float or None
        Key of `UNITS`; None where the ratios are none of these.
    """
    ratios = table["ratio"].drop_nulls().to_list()
    for factor in UNITS if ratios else ():
        for exact in (factor, 1 / factor):
            if all(1 / UNIT_TOLERANCE < ratio / exact < UNIT_TOLERANCE for ratio in ratios):
                return factor
    return None


def other_work(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Find the N whose workers had more to do in one of two tables of trials than in the other.

    Returns
    -------
    polars.DataFrame
        `stage, workers, work, work_right`: median work of the timed trials of base and of new.
        Work that is not known is not told to be another.
    """
    one = ["stage", "workers"]
    done, done_new = (
        side.filter("valid").group_by(one).agg(pl.col("work").median()) for side in (base, new)
    )
    return done.join(done_new, on=one).filter(pl.col("work") != pl.col("work_right")).sort(one)


_OF_A_SIDE = ("repeats", "wall_s", "flags", "invalid", "quality")


def _by_key(table: pl.DataFrame) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[column] for column in KEY): row for row in table.to_dicts()}


def _arms(base: pl.DataFrame, new: pl.DataFrame) -> dict[tuple[Any, ...], Arms]:
    walls = [
        {key: own["wall_s"].to_list() for key, own in trials.filter("valid").group_by(KEY)}
        for trials in (base, new)
    ]
    return {key: (walls[0].get(key, []), walls[1].get(key, [])) for key in walls[0] | walls[1]}


def _arms_of_blocks(base: pl.DataFrame, new: pl.DataFrame) -> dict[tuple[Any, ...], Arms]:
    """Wall times of the blocks that both sides timed, in one order."""
    one = [*KEY, "block"]
    timed = [trials.filter("valid").select(*one, "wall_s") for trials in (base, new)]
    # Tables of wall times have no device.
    both = timed[0].join(timed[1], on=one, suffix="_new", nulls_equal=True).sort(one)
    return {
        key: (own["wall_s"].to_list(), own["wall_s_new"].to_list())
        for key, own in both.group_by(KEY)
    }


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
    """Judge one configuration of so many that are tested together."""
    p_alone, p_adjusted, p_beyond, told, beyond = (
        (alone.slower, together.slower, together.worse, "slower", "worse")
        if test.ratio >= 1
        else (alone.faster, together.faster, together.better, "faster", "better")
    )
    found = (test.ratio, test.interval(FALSE_ALARMS), p_adjusted, p_beyond)
    if max(test.p_below(1 + at_least), test.p_above(1 / (1 + at_least))) <= FALSE_ALARMS:
        return Judgement("same", None, *found)
    if p_beyond <= FALSE_ALARMS:
        return Judgement(beyond, None, *found)
    if p_adjusted <= FALSE_ALARMS:
        return Judgement(told, None, *found)
    if tested * test.least_p > FALSE_ALARMS:
        reason = "many-configurations"
    else:
        leaves_1_out = min(test.p_above(1), test.p_below(1)) <= FALSE_ALARMS
        reason = "as-runs-differ" if leaves_1_out else "unsettled"
        if p_alone <= FALSE_ALARMS:
            reason = "only-alone"
    return Judgement("not enough data", reason, *found)


def _schema() -> dict[str, Any]:
    number, text, flags = pl.Float64, pl.String, pl.List(pl.String)
    return {
        "stage": text,
        "device": text,
        "workers": pl.Int64,
        "base_repeats": pl.Int64,
        "new_repeats": pl.Int64,
        "base_wall_s": number,
        "new_wall_s": number,
        "ratio": number,
        "ratio_low": number,
        "ratio_high": number,
        "p_adjusted": number,
        "p_beyond": number,
        "verdict": text,
        "reason": text,
        "base_flags": flags,
        "new_flags": flags,
        "base_invalid": pl.Boolean,
        "new_invalid": pl.Boolean,
        "base_quality": text,
        "new_quality": text,
    }
