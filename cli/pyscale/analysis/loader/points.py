"""One row for each configuration of loading: its rates, its diversity, and how sure these are."""

from __future__ import annotations

from statistics import median
from typing import Any

import polars as pl

from pyscale.analysis.aggregate import first_told, median_rate, over_trials
from pyscale.analysis.intervals import median_interval, ratio_interval, with_ends
from pyscale.analysis.loader.advice import with_front
from pyscale.analysis.loader.columns import RATES, SETTINGS, point_schema, rank_schema
from pyscale.analysis.loader.flags import DIFFERS, flag_codes
from pyscale.analysis.trials import least_proved
from pyscale_stages.loading import Loading


def loader_points(loading: pl.DataFrame, trials: pl.DataFrame, *, keep: float) -> pl.DataFrame:
    """Sum up the trials of each entry at each N."""
    one = ["stage", "workers"]
    first = loading.unique(one, keep="first", maintain_order=True)
    planned = first.select(*one, "family", *SETTINGS).rows_by_key(one, named=True, unique=True)
    rows = [
        dict(zip(one, key, strict=True)) | planned[key] | _summed(own)
        for key, own in trials.partition_by(one, as_dict=True).items()
    ]
    table = pl.DataFrame(rows, point_schema()).with_columns(
        loader_processes=pl.col("workers") * pl.col("num_workers"), feeds=_feeds()
    )
    return with_front(table, keep=keep)


def _summed(trials: pl.DataFrame) -> dict[str, Any]:
    counted = trials.filter("valid")
    straggling = _of_middle(counted)
    checksum = _checksum(counted)
    return {
        "repeats": counted.height,
        "failed": int((~trials["complete"]).sum()),
        "error": first_told(trials["error"]),
        "cores": trials["cores"].min(),
        "oversubscribed": bool(trials["oversubscribed"].any()),
        "cache_state": counted.select(least_proved(pl.col("cache_state"))).item(),
        **{key: value for name in RATES for key, value in _with_ends(counted, name).items()},
        **_quotient(counted),
        "slowest_per_s": median_rate(counted["slowest_per_s"]),
        "slowest_rank": _most_often(counted),
        "straggling": straggling,
        **over_trials(trials, Loading),
        "checksum": checksum,
        "flags": ",".join(flag_codes(trials, straggling=straggling, checksum=checksum)),
    }


def _with_ends(trials: pl.DataFrame, name: str) -> dict[str, float | None]:
    """Median of a rate and the ends of its interval, null where there are too few trials."""
    rates = trials[name].drop_nulls().to_list()
    interval = median_interval(rates)
    return with_ends(name, median_rate(trials[name]), interval)


def _quotient(trials: pl.DataFrame) -> dict[str, float | None]:
    """Effective over inferred rate, of several ranks; both were measured in the same trials."""
    if trials.is_empty() or trials["workers"][0] == 1:
        return {}
    inferred_s = (1 / trials["inferred_per_s"]).to_list()
    effective_s = (1 / trials["patches_per_s"]).to_list()
    interval = ratio_interval(inferred_s, effective_s, paired=True)
    quotient = median(inferred_s) / median(effective_s)
    return with_ends("effective_over_inferred", quotient, interval)


def _of_middle(trials: pl.DataFrame) -> float | None:
    """Lag of the slowest rank in the middle trial; of two middle ones the slower."""
    if trials.is_empty() or trials["workers"][0] == 1:
        return None
    ordered = trials.sort("patches_per_s", "block")
    return float(ordered["straggling"][(trials.height - 1) // 2])


def _most_often(trials: pl.DataFrame) -> int | None:
    """Give the rank that was slowest in most trials, of several the first; null for one alone."""
    if trials.is_empty() or trials["workers"][0] == 1:
        return None
    slowest: list[int] = trials["slowest_rank"].to_list()
    return min(set(slowest), key=lambda rank: (-slowest.count(rank), rank))


def _checksum(trials: pl.DataFrame) -> str | None:
    found = trials["checksum"].drop_nulls().unique().to_list()
    if len(found) > 1:
        return DIFFERS
    return None if not found or trials["checksum"].null_count() else str(found[0])


def _feeds() -> pl.Expr:
    """Whether training has what it takes, where the interval leaves no doubt."""
    consumed = pl.col("consumed_per_s")
    return (
        pl.when(consumed.is_null() | pl.col("patches_per_s").is_null())
        .then(None)
        .when(pl.col("patches_per_s_low") >= consumed)
        .then(pl.lit("yes"))
        .when(pl.col("patches_per_s_high") < consumed)
        .then(pl.lit("no"))
        .otherwise(pl.lit("not sure"))
    )


def loader_ranks(loading: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Sum up the trials of each rank."""
    patch_s = pl.col("free_wall_s") / pl.col("free_patches")
    waits = ("wait_p50_s", "wait_p95_s", "wait_p99_s")
    found = (
        loading.join(trials.filter("valid").select("trial"), on="trial", how="semi")
        .group_by("stage", "workers", "rank", maintain_order=True)
        .agg(
            pl.col("node").drop_nulls().unique().sort().str.join(","),
            pl.len().alias("repeats"),
            (1 / patch_s.median()).alias("patches_per_s"),
            *(pl.col(f"free_{wait}").median().alias(wait) for wait in waits),
            pl.when(pl.col("pss_bytes").null_count() == 0).then(pl.col("pss_bytes").max()),
            pl.col("slides").max(),
        )
    )
    return found.select(pl.col(name).cast(kind) for name, kind in rank_schema().items())
