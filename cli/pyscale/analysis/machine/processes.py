"""Times by process: the unit of repetition, as repeats inside one are not independent."""

from __future__ import annotations

import polars as pl

from pyscale_stages.residency import LEAST_PROVED_FIRST

ON = ("kind", "stage", "workers", "node", "hardware", "device")
"""Whose tests these are."""
KEYS = (*ON, "test", "step", "at_once")
LATENCIES = ("latency_p50_s", "latency_p95_s", "latency_p99_s", "reads_per_s")


def with_details(timings: pl.DataFrame) -> pl.DataFrame:
    """Add numbers that details tell, whether a row is a `first` call, and a rank for `cache`."""
    told = pl.Struct(dict.fromkeys(("first_call", *LATENCIES, "error", "tolerance"), pl.Float64))
    return (
        timings.with_row_index("order")
        .with_columns(pl.col("details").str.json_decode(told).alias("told"))
        .unnest("told")
        .with_columns(
            first=pl.col("first_call").fill_null(0) == 1,
            proved=pl.col("cache").replace_strict(
                {state: place for place, state in enumerate(LEAST_PROVED_FIRST)},
                return_dtype=pl.Int64,
            ),
        )
    )


_AMOUNT = pl.col("amount")
TAKEN_TOGETHER = (
    pl.col("first_s", *LATENCIES).median(),
    pl.col("calls").sum(),
    # What did not always do the same has no common rate.
    pl.when(_AMOUNT.n_unique() == 1).then(_AMOUNT.first()).alias("amount"),
)
"""Of repeats, processes and trials alike, beside their times."""


def process_medians(timings: pl.DataFrame) -> pl.DataFrame:
    """Sum up the repeats of each process, a row for each test that it timed.

    What a process keeps, and the minutes in which it ran, are in all of its repeats, so that these
    tell nothing of how much another process would differ. `first_s` is of its first call, `wall_s`
    the median of its other `calls`; of `cache` the state of which least was proved stands.
    """
    later = ~pl.col("first")
    calls = with_details(timings.filter(pl.col("wall_s").is_not_null())).with_columns(
        pl.when(later).then(pl.col("wall_s", *LATENCIES)),
        first_s=pl.when("first").then("wall_s"),
        calls=later.cast(pl.Int64),
    )
    return calls.group_by(*KEYS, "trial", "task", maintain_order=True).agg(
        pl.col("wall_s").median(),
        *TAKEN_TOGETHER,
        pl.col("unit", "bottleneck").drop_nulls().first(),
        pl.col("cache").sort_by("proved").drop_nulls().first(),
    )


def trial_medians(timings: pl.DataFrame) -> pl.DataFrame:
    """Sum up the processes of each trial: those that measured a node at once shared its moments."""
    processes = process_medians(timings).group_by(*KEYS, "trial", maintain_order=True)
    return processes.agg(pl.col("wall_s").median(), *TAKEN_TOGETHER)
