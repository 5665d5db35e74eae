"""How large an image so many ranks can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.reconstruct.columns import largest_schema

if TYPE_CHECKING:
    import polars as pl


def largest_sizes(trials: pl.DataFrame) -> pl.DataFrame:
    """Find the largest size that ran and the smallest of which memory ran out, for each N.

    A trial that ran when tried again ran: it counts here.

    Parameters
    ----------
    trials : polars.DataFrame
        As `pyscale.analysis.reconstruct.trials.reconstruct_trials` gives them.

    Returns
    -------
    polars.DataFrame
        Columns of `pyscale.analysis.reconstruct.columns.largest_schema`; families in the order of
        `trials`, each by rising N.
    """
    import polars as pl

    size = pl.col("size_px")
    families = trials.select("family", "problem").unique(maintain_order=True)
    found = (
        trials.group_by("family", "problem", "workers")
        .agg(
            size.filter("complete").max().alias("largest_px"),
            size.filter("exhausted").min().alias("exhausted_px"),
        )
        .sort("workers")
    )
    return families.join(
        found, on=["family", "problem"], how="left", maintain_order="left_right", nulls_equal=True
    ).select(pl.col(name).cast(kind) for name, kind in largest_schema().items())
