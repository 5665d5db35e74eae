"""One row for each test of a machine: its time, its rate, its share, and how sure these are."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pyscale.analysis.intervals import median_interval
from pyscale.analysis.machine.columns import test_schema
from pyscale.analysis.machine.flags import flags_of
from pyscale.analysis.machine.processes import KEYS, LATENCIES, ON, trial_medians, with_details

if TYPE_CHECKING:
    import polars as pl

DRAWN = ("storage", "decompress")
"""Stages that draw the order of their tests: theirs are told by name."""


def machine_tests(timings: pl.DataFrame) -> pl.DataFrame:
    """Sum up each test: over the repeats of a process, then over processes.

    Parameters
    ----------
    timings : polars.DataFrame
        One row a repeat, as `pyscale.store.columns.timing_schema` describes it.

    Returns
    -------
    polars.DataFrame
        Columns of `pyscale.analysis.machine.columns.test_schema`. The steps of a test follow its
        whole; tests of a stage that draws their order are in the order of their names.
    """
    import polars as pl

    found = (
        with_details(timings)
        .group_by(KEYS, maintain_order=True)
        .agg(*_sums())
        .join(_over_trials(timings), on=KEYS, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            pl.col("repeats", "calls").fill_null(0),
            whole=pl.col("step").is_null() | ~_has_whole(),
        )
        .with_columns(bottleneck=_bottleneck())
    )
    return (
        _sorted(_with_intervals(found))
        .with_columns(percent=_percent())
        .with_columns(flags=flags_of())
        .select(pl.col(name).cast(kind) for name, kind in test_schema().items())
    )


def _sums() -> list[pl.Expr]:
    """What all repeats of one row are together."""
    import polars as pl

    timed = pl.col("wall_s").is_not_null()
    trials = pl.col("trial").n_unique().cast(pl.Int64)
    tasks = pl.struct("trial", "task").n_unique().cast(pl.Int64)
    # An error that is no number is left out of the record; what is allowed is not.
    is_wrong = pl.col("error").is_null() | (pl.col("error") > pl.col("tolerance"))
    return [
        pl.col("order").first(),
        (-(-tasks // trials)).alias("processes"),
        pl.col("wall_s").filter(timed & ~pl.col("first")).sum().alias("total_s"),
        pl.col("unit", "bottleneck").drop_nulls().first(),
        pl.col("cache").sort_by("proved").drop_nulls().first(),
        pl.col("error").max(),
        pl.col("tolerance").min(),
        (pl.col("tolerance").is_not_null() & is_wrong).any().alias("wrong"),
        pl.when(~timed.any())
        .then(pl.col("why_not").filter(pl.col("why_not") != "").first())
        .fill_null("")
        .alias("why_not"),
    ]


def _over_trials(timings: pl.DataFrame) -> pl.DataFrame:
    """What the trials of each row found."""
    import polars as pl

    wall_s, amount = pl.col("wall_s"), pl.col("amount")
    return (
        trial_medians(timings)
        .group_by(KEYS, maintain_order=True)
        .agg(
            wall_s.drop_nulls().sort().alias("walls"),
            wall_s.count().cast(pl.Int64).alias("repeats"),
            pl.col("calls").sum(),
            pl.col("first_s", *LATENCIES).median(),
            pl.when(amount.n_unique() == 1).then(amount.first()).alias("amount"),
        )
        .rename({"reads_per_s": "iops"})
    )


def _has_whole() -> pl.Expr:
    import polars as pl

    return pl.col("step").is_null().any().over(*ON, "test")


def _bottleneck() -> pl.Expr:
    """What a test depends on most: what its longest step does, where its steps were timed."""
    import polars as pl

    steps = pl.col("step").is_not_null() & (pl.col("total_s") > 0)
    of_longest = pl.col("bottleneck").filter(steps).sort_by(pl.col("total_s").filter(steps)).last()
    is_whole = pl.col("step").is_null()
    known = pl.coalesce(of_longest.over(*ON, "test", "at_once"), "bottleneck")
    return pl.when(is_whole).then(known).otherwise("bottleneck")


def _with_intervals(found: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    ranks = {count: _ranks(count) for count in found["repeats"].unique()}
    ends = [
        pl.col("walls").list.get(
            pl.col("repeats").replace_strict(
                {count: ends[side] for count, ends in ranks.items() if ends},
                default=None,
                return_dtype=pl.Int64,
            )
        )
        for side in (0, 1)
    ]
    return found.with_columns(
        wall_s=pl.col("walls").list.median(),
        wall_s_low=ends[0],
        wall_s_high=ends[1],
    ).with_columns(
        rate=pl.col("amount") / pl.col("wall_s"),
        rate_low=pl.col("amount") / pl.col("wall_s_high"),
        rate_high=pl.col("amount") / pl.col("wall_s_low"),
    )


@cache
def _ranks(count: int) -> tuple[int, int] | None:
    """Which of so many sorted values are the ends of the interval of their median, from 0."""
    interval = median_interval(range(count))
    return None if interval is None else (int(interval.low), int(interval.high))


def _sorted(found: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    as_noted = pl.col("order").min().over(*ON, "test")
    return found.sort(
        pl.col("order").min().over(ON),
        pl.when(~pl.col("kind").is_in(DRAWN)).then(as_noted),
        "test",
        "at_once",
        pl.col("step").is_not_null(),
        "order",
    )


def _percent() -> pl.Expr:
    import polars as pl

    wall_s = pl.col("wall_s")
    all_of_kind = wall_s.filter("whole").sum().over("kind", "workers", "node", "device")
    # Sums over repeats, as parts of a sum add up to it, and medians of parts to no median.
    total_s = pl.col("total_s")
    own_test = total_s.filter(pl.col("step").is_null()).first().over(*ON, "test", "at_once")
    timed = pl.when(wall_s.is_not_null())
    return timed.then(pl.when("whole").then(wall_s / all_of_kind).otherwise(total_s / own_test))
