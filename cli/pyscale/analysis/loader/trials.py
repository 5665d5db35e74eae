"""One row a trial of loading: what its ranks found, taken together."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from pyscale.analysis.loader.columns import trial_schema
from pyscale.analysis.loader.nodes import node_use
from pyscale.analysis.trials import least_proved, sum_if_all

if TYPE_CHECKING:
    import polars as pl

MEASURED = (
    *("patches_per_s", "inferred_per_s", "aggregate_per_s"),
    *("slowest_rank", "slowest_per_s", "straggling"),
    *("wait_p50_s", "wait_p95_s", "wait_p99_s", "step_p50_s", "step_p95_s", "step_p99_s"),
    *("node_pss_bytes", "node_rss_bytes", "read_bytes_per_patch", "storage_read_bytes_per_patch"),
    *("storage_bytes_per_s", "cpu_s_per_patch", "copy_s_per_batch", "slides_per_batch"),
    *("distance_px", "effective_slides", "diversity_patches", "checksum", "consumed_per_s"),
)
"""What is null unless every rank measured."""


def loader_trials(loading: pl.DataFrame, *, count_retried: bool = False) -> pl.DataFrame:
    """Take the ranks of each trial together.

    Parameters
    ----------
    loading : polars.DataFrame
        One row a rank, as `pyscale.store.loadingcolumns.loading_schema` describes it.
    count_retried : bool
        Whether a trial that succeeded only when tried again counts too.

    Returns
    -------
    polars.DataFrame
        Columns of `pyscale.analysis.loader.columns.trial_schema`, in the order of `loading`.
    """
    import polars as pl

    found = (
        loading.group_by("trial", maintain_order=True)
        .agg(*_header(), *_rates(), *_waits(), *_costs(), *_diversity())
        .join(node_use(loading), on="trial", how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("workers") == 1)
            .then("aggregate_per_s")
            .otherwise("patches_per_s")
            .alias("patches_per_s"),
            oversubscribed=pl.col("oversubscribed") | (pl.col("busiest") > 1).fill_null(False),
            valid=pl.col("complete") & (count_retried | (pl.col("attempt") == 1)),
            checksum=pl.struct("checksums", "workers").map_elements(
                lambda one: _combined(one["checksums"], one["workers"]), return_dtype=pl.String
            ),
        )
    )
    return found.with_columns(
        pl.when("complete").then(pl.col(name)).alias(name) for name in MEASURED
    ).select(pl.col(name).cast(kind) for name, kind in trial_schema().items())


def _header() -> list[pl.Expr]:
    import polars as pl

    done = pl.col("status") == "done"
    return [
        pl.col("stage", "workers", "block", "cache_asked").first(),
        pl.col("attempt").max(),
        (done.all() & (pl.len() == pl.col("workers").first())).alias("complete"),
        pl.col("error").sort_by("rank").drop_nulls().first(),
        least_proved(pl.col("cache_state")).alias("cache_state"),
        pl.col("oversubscribed", "disturbed").any(),
        pl.col("hardware").drop_nulls().unique().sort(),
        pl.when(pl.col("checksum").null_count() == 0)
        .then(pl.col("checksum").sort_by("rank").implode())
        .alias("checksums"),
    ]


def _rates() -> list[pl.Expr]:
    """Rates of all ranks; a median of rates is that of the times of a patch, as these are costs."""
    import polars as pl

    patch_s = pl.col("free_wall_s") / pl.col("free_patches")
    together = sum_if_all(pl.col("together_patches")) / pl.col("together_wall_s").max()
    return [
        together.alias("patches_per_s"),
        (pl.len() / patch_s.max()).alias("inferred_per_s"),
        sum_if_all(1 / patch_s).alias("aggregate_per_s"),
        (1 / patch_s.max()).alias("slowest_per_s"),
        pl.col("rank")
        .sort_by(patch_s, "rank", descending=[True, False])
        .first()
        .alias("slowest_rank"),
        (1 - patch_s.median() / patch_s.max()).alias("straggling"),
        sum_if_all(pl.col("consumed_per_s")).alias("consumed_per_s"),
        pl.col("consumer").filter(pl.col("consumer") != "").first(),
    ]


def _waits() -> list[pl.Expr]:
    import polars as pl

    percentiles = ("p50_s", "p95_s", "p99_s")
    waits = [pl.col(f"free_wait_{which}").max().alias(f"wait_{which}") for which in percentiles]
    steps = [pl.col(f"together_step_{which}").max().alias(f"step_{which}") for which in percentiles]
    return [*waits, *steps, pl.col("copy_mean_s").max().alias("copy_s_per_batch")]


def _costs() -> list[pl.Expr]:
    import polars as pl

    patches = pl.col("free_patches").sum()
    stored = pl.col("free_storage_read_bytes")
    return [
        (sum_if_all(pl.col("free_read_bytes")) / patches).alias("read_bytes_per_patch"),
        (sum_if_all(stored) / patches).alias("storage_read_bytes_per_patch"),
        sum_if_all(stored / pl.col("free_wall_s")).alias("storage_bytes_per_s"),
        (sum_if_all(pl.col("free_cpu_s")) / patches).alias("cpu_s_per_patch"),
    ]


def _diversity() -> list[pl.Expr]:
    """Diversity of the patches of all ranks, which share no slide and take as many each.

    Each of N ranks has a share of 1 / N, and the sum of squared shares is the mean of its ranks'
    over N: the effective slides are N times their harmonic mean.
    """
    import polars as pl

    effective = pl.len() ** 2 / sum_if_all(1 / pl.col("effective_slides"))
    return [
        sum_if_all(pl.col("slides_per_batch")).alias("slides_per_batch"),
        pl.col("distance_px").mean(),
        effective.alias("effective_slides"),
        sum_if_all(pl.col("diversity_patches")).alias("diversity_patches"),
    ]


def _combined(checksums: list[str] | None, ranks: int) -> str | None:
    """One checksum of all ranks; with one rank its own."""
    if checksums is None or len(checksums) != ranks:
        return None
    return checksums[0] if ranks == 1 else sha256("\n".join(checksums).encode()).hexdigest()
