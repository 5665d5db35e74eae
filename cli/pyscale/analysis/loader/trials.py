"""One row a trial of loading: what its ranks found, taken together."""

from __future__ import annotations

from hashlib import sha256

import polars as pl

from pyscale.analysis.aggregate import folded, over_ranks
from pyscale.analysis.trials import least_proved, sum_if_all
from pyscale_stages.loading import Loading

RATES = ("patches_per_s", "inferred_per_s", "aggregate_per_s", "slowest_per_s")
MEASURED = (*RATES, "slowest_rank", "straggling", "checksum", *folded(Loading))
"""What is null unless every rank measured."""


def loader_trials(loading: pl.DataFrame, *, count_retried: bool = False) -> pl.DataFrame:
    """Take the ranks of each trial together.

    `complete` is whether every rank measured, `valid` whether the trial counts, which one that was
    tried again does not, unless asked for. `error` is of the first rank that failed. Rates:
    `patches_per_s` is patches of all ranks in step with each other over the longest time of a rank
    (with one rank its rate); those `inferred`, `aggregate` and of the slowest are of ranks that do
    not wait for others. `busiest` is the largest quotient on a node of loader processes and ranks
    by its cores; `oversubscribed` says that workers shared cores or that it is above 1. `checksum`
    is of what all delivered, in their order. What could not be measured is null; so is a sum over
    ranks of which a part is not known.
    """
    found = (
        loading.group_by("trial", maintain_order=True)
        .agg(*_header(), *_rates())
        .join(over_ranks(loading, Loading), on="trial", how="left", maintain_order="left")
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
    return found.drop("checksums").with_columns(
        pl.when("complete").then(pl.col(name)).alias(name) for name in MEASURED
    )


def _header() -> list[pl.Expr]:
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
    ]


def _combined(checksums: list[str] | None, ranks: int) -> str | None:
    """One checksum of all ranks; with one rank its own."""
    if checksums is None or len(checksums) != ranks:
        return None
    return checksums[0] if ranks == 1 else sha256("\n".join(checksums).encode()).hexdigest()


def node_use(loading: pl.DataFrame) -> pl.DataFrame:
    """Cores of the nodes of each trial, and how busy the busiest is.

    Parameters
    ----------
    loading : polars.DataFrame
        One row a rank, as `pyscale.store.ranktables.loading_schema` describes it.

    Returns
    -------
    polars.DataFrame
        A row a trial: `trial`, `cores` (of all nodes), `busiest` (largest quotient of ranks and
        loader processes by cores).
    """
    processes = pl.col("num_workers") + 1
    return (
        loading.group_by("trial", "node", maintain_order=True)
        .agg(sum_if_all(processes).alias("processes"))
        .join(_node_cores(loading), on=["trial", "node"], how="left", nulls_equal=True)
        .group_by("trial", maintain_order=True)
        .agg(
            sum_if_all(pl.col("cores")).alias("cores"),
            (pl.col("processes") / pl.col("cores")).max().alias("busiest"),
        )
    )


def _node_cores(loading: pl.DataFrame) -> pl.DataFrame:
    """Cores for the ranks of each node, none counted twice.

    Ranks that are pinned to the same cores share them, and the limit of a control group on them;
    ranks on other cores add theirs.
    """
    pinned = pl.col("cpus").list.sort().cast(pl.List(pl.String)).list.join(",")
    shares = loading.group_by("trial", "node", pinned, maintain_order=True).agg(
        pl.col("cores").max()
    )
    numbers = pl.col("cpus").str.split(",").list.explode()
    return shares.group_by("trial", "node", maintain_order=True).agg(
        cores=pl.min_horizontal(
            sum_if_all(pl.col("cores")),
            pl.when(pl.col("cpus").fill_null("").str.len_bytes().min() > 0).then(
                numbers.n_unique()
            ),
        )
    )
