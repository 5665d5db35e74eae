"""What the ranks of a trial share on a node: its cores and its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.trials import sum_if_all

if TYPE_CHECKING:
    import polars as pl


def node_use(loading: pl.DataFrame) -> pl.DataFrame:
    """Sum up nodes, and take of each trial the node that has least to spare.

    Parameters
    ----------
    loading : polars.DataFrame
        One row a rank, as `pyscale.store.loadingcolumns.loading_schema` describes it.

    Returns
    -------
    polars.DataFrame
        A row a trial: `trial`, `cores` (of all nodes), `busiest` (largest quotient of ranks and
        loader processes by cores), `node_pss_bytes`, `node_rss_bytes` (largest sums).
    """
    import polars as pl

    processes = pl.col("num_workers") + 1
    return (
        loading.group_by("trial", "node", maintain_order=True)
        .agg(
            sum_if_all(processes).alias("processes"),
            sum_if_all(pl.col("pss_bytes")).alias("pss_bytes"),
            sum_if_all(pl.col("rss_bytes")).alias("rss_bytes"),
        )
        .join(_node_cores(loading), on=["trial", "node"], how="left", nulls_equal=True)
        .group_by("trial", maintain_order=True)
        .agg(
            sum_if_all(pl.col("cores")).alias("cores"),
            (pl.col("processes") / pl.col("cores")).max().alias("busiest"),
            _largest("pss_bytes"),
            _largest("rss_bytes"),
        )
    )


def _node_cores(loading: pl.DataFrame) -> pl.DataFrame:
    """Cores for the ranks of each node, none counted twice.

    Ranks that are pinned to the same cores share them, and the limit of a control group on them;
    ranks on other cores add theirs.
    """
    import polars as pl

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


def _largest(sums: str) -> pl.Expr:
    """Largest sum of a node; null where that of any is not known."""
    import polars as pl

    values = pl.col(sums)
    return pl.when(values.null_count() == 0).then(values.max()).alias(f"node_{sums}")
