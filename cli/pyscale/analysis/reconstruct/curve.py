"""Trials of one entry of a suite over N: which are its baseline, and which is the middle one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def baseline(entry: pl.DataFrame) -> pl.DataFrame:
    """Trials that count with the fewest ranks of any that counts; none where none counts.

    Parameters
    ----------
    entry : polars.DataFrame
        All trials of an entry, as `pyscale.analysis.reconstruct.columns.trial_schema` describes
        them.
    """
    import polars as pl

    return entry.filter("valid").filter(pl.col("workers") == pl.col("workers").min())


def by_workers(entry: pl.DataFrame) -> list[pl.DataFrame]:
    """Trials of an entry apart by N, which rises."""
    ordered = entry.sort("workers", maintain_order=True)
    return ordered.partition_by("workers", maintain_order=True)


def share_of(trials: pl.DataFrame, component: str) -> float:
    """Share of a component in all iterations of all ranks and trials.

    Those of all components together leave the rest, which medians over trials would not.
    """
    spent_s: list[float] = (trials[f"{component}_share"] * trials["ranks_s"]).to_list()
    whole_s: list[float] = trials["ranks_s"].to_list()
    return sum(spent_s) / sum(whole_s)


def of_middle(trials: pl.DataFrame, name: str) -> float | None:
    """Give what the middle trial by wall time has, and of two middle ones the slower.

    A quotient is never averaged over trials.
    """
    if trials.is_empty():
        return None
    found: float | None = trials.sort("wall_s", "block")[name][trials.height // 2]
    return found
