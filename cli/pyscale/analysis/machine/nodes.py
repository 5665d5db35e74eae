"""The same test on several nodes: which of them is slower or faster than the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

SLOW, FAST = 0.8, 1.25
"""Ratios to the median of all nodes beyond which a node is no ordinary one."""
LEAST_NODES = 3
"""Of two nodes that differ, nobody can say which is the ordinary one."""
TEST = ("kind", "stage", "workers", "device", "test", "step", "at_once")


def node_comparison(tests: pl.DataFrame) -> pl.DataFrame:
    """Set each node beside the median of all that did the same test.

    Parameters
    ----------
    tests : polars.DataFrame
        As `pyscale.analysis.machine.tests.machine_tests` gives them.

    Returns
    -------
    polars.DataFrame
        A row for each node and test that stands for itself, was timed on two nodes or more, and
        was not wrong; test by test, columns of `node_schema`.
    """
    import polars as pl

    wall_s = {end: pl.col(f"wall_s{end}") for end in ("", "_low", "_high")}
    told = pl.col("rate").is_not_null()
    timed = tests.filter(
        "whole",
        pl.col("wall_s").is_not_null(),
        pl.col("node").is_not_null(),
        ~pl.col("flags").list.contains("wrong-result"),
    ).with_columns(
        unit=pl.when(told).then("unit"),
        rate=pl.when(told).then("rate").otherwise(1 / wall_s[""]),
        rate_low=pl.when(told).then("rate_low").otherwise(1 / wall_s["_high"]),
        rate_high=pl.when(told).then("rate_high").otherwise(1 / wall_s["_low"]),
    )
    median = pl.col("median_rate")
    return (
        timed.with_row_index("order")
        .with_columns(
            order=pl.col("order").min().over(TEST),
            nodes=pl.col("node").n_unique().over(TEST).cast(pl.Int64),
            median_rate=pl.col("rate").median().over(TEST),
        )
        .filter(pl.col("nodes") > 1)
        .with_columns(
            ratio=pl.col("rate") / median,
            ratio_low=pl.col("rate_low") / median,
            ratio_high=pl.col("rate_high") / median,
        )
        .with_columns(outlier=_outlier())
        .sort("order", maintain_order=True)
        .select(pl.col(name).cast(kind) for name, kind in node_schema().items())
    )


def node_schema() -> dict[str, Any]:
    """Columns of `node_comparison`.

    kind, stage, workers, device, test, step, at_once
        As in `pyscale.analysis.machine.columns.test_schema`: what was done.
    node, hardware : str
        Where: nodes of other hardware are compared too.
    nodes : int
        How many did it.
    unit : str
        Of `rate`, a second; null where no amount is told and `rate` is 1 / time.
    rate : float
        What this node reached: the median over its trials.
    median_rate : float
        Median of `rate` over the nodes.
    ratio, ratio_low, ratio_high : float
        `rate` over `median_rate`; the ends are those of the node's own interval, with the median
        taken as known, null where too few trials timed it.
    outlier : bool
        Whether the node is below 0.8 or above 1.25 of the median, and its interval excludes 1.
        Null where that cannot be said: fewer than 3 nodes, or too few trials for an interval.
    """
    import polars as pl

    number = pl.Float64
    return {
        "kind": pl.String,
        "stage": pl.String,
        "workers": pl.Int64,
        "device": pl.String,
        "test": pl.String,
        "step": pl.String,
        "at_once": pl.Int64,
        "node": pl.String,
        "hardware": pl.String,
        "nodes": pl.Int64,
        "unit": pl.String,
        "rate": number,
        "median_rate": number,
        "ratio": number,
        "ratio_low": number,
        "ratio_high": number,
        "outlier": pl.Boolean,
    }


def _outlier() -> pl.Expr:
    import polars as pl

    known = (pl.col("nodes") >= LEAST_NODES) & pl.col("ratio_low").is_not_null()
    slow = (pl.col("ratio") < SLOW) & (pl.col("ratio_high") < 1)
    fast = (pl.col("ratio") > FAST) & (pl.col("ratio_low") > 1)
    return pl.when(known).then(slow | fast)
