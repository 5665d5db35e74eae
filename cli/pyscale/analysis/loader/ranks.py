"""One row for each rank of a configuration of loading: which of them is slow, and where it ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.loader.columns import rank_schema

if TYPE_CHECKING:
    import polars as pl


def loader_ranks(loading: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Sum up the trials of each rank.

    Parameters
    ----------
    loading : polars.DataFrame
        One row a rank of a trial, as `pyscale.store.loadingcolumns.loading_schema` describes it.
    trials : polars.DataFrame
        As `pyscale.analysis.loader.trials.loader_trials` gives them: those that are valid count.

    Returns
    -------
    polars.DataFrame
        Columns of `pyscale.analysis.loader.columns.rank_schema`, in the order of `loading`.
    """
    import polars as pl

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
