"""One row a trial of reconstruction: what its ranks measured in all iterations, taken together."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.aggregate import over_ranks
from pyscale.analysis.reconstruct.columns import (
    DEVIATIONS,
    EVERY,
    column,
    trial_schema,
)
from pyscale_stages.reconstruction import COMPONENTS, Reconstruction

PARTS_S = tuple(f"{name}_s" for name in COMPONENTS)
TIMES_S = tuple(f"{column(name)}_s" for name in EVERY)


def reconstruct_trials(
    reconstruction: pl.DataFrame, *, count_retried: bool = False
) -> pl.DataFrame:
    """Take the ranks and iterations of each trial together."""
    ranks = reconstruction.unique(["trial", "rank"], keep="first", maintain_order=True)
    table = (
        reconstruction.group_by("trial", maintain_order=True)
        .agg(*_header(), *_shares())
        .join(over_ranks(ranks, Reconstruction), on="trial", maintain_order="left")
        .with_columns(valid=pl.col("complete") & (count_retried | (pl.col("attempt") == 1)))
    )
    complete = reconstruction.join(table.filter("complete").select("trial"), on="trial", how="semi")
    for measured in (_times(complete), _ranks(complete)):
        table = table.join(measured, on="trial", how="left", maintain_order="left")
    shares = ("ranks_s", *(f"{name}_share" for name in COMPONENTS))
    return table.with_columns(
        pl.when("complete").then(pl.col(name)).alias(name) for name in shares
    ).select(pl.col(name).cast(kind) for name, kind in trial_schema().items())


def _header() -> list[pl.Expr]:
    ran_out = pl.col("exhausted").fill_null(False)
    all_ranks = pl.col("rank").n_unique() == pl.col("workers").first()
    measured = (pl.col("status") == "done") & pl.col("iteration").is_not_null()
    error = pl.col("error").replace("", None)
    return [
        pl.col("stage", "family", "problem", "size_px", "workers", "block").first(),
        pl.col("attempt").max().fill_null(1),
        (measured.all() & all_ranks).alias("complete"),
        # Where memory runs out on one rank, all others tell that they were left.
        error.sort_by(~ran_out, "rank").drop_nulls().first().alias("error"),
        ran_out.any().alias("exhausted"),
        pl.col("oversubscribed", "disturbed").any(),
        pl.col("hardware").drop_nulls().unique().sort(),
        # The same on every rank that tells it.
        *(pl.col(name).drop_nulls().first() for name in ("device", *DEVIATIONS)),
    ]


def _shares() -> list[pl.Expr]:
    """Sums over all iterations of all ranks: these, unlike medians, add up to the whole."""
    whole = pl.col("wall_s").sum()
    shares = [(pl.col(f"{name}_s").sum() / whole).alias(f"{name}_share") for name in COMPONENTS]
    return [whole.alias("ranks_s"), *shares]


def _times(complete: pl.DataFrame) -> pl.DataFrame:
    """Give medians over iterations of the longest and of the mean time of the ranks."""
    longest = [pl.col(name).max() for name in TIMES_S]
    means = [pl.col(name).mean().alias(_mean(name)) for name in TIMES_S]
    return (
        complete.group_by("trial", "iteration")
        .agg(*longest, *means)
        .group_by("trial")
        .agg(pl.col(*TIMES_S, *map(_mean, TIMES_S)).median())
    )


def _mean(name: str) -> str:
    return f"{name.removesuffix('_s')}_mean_s"


def _ranks(complete: pl.DataFrame) -> pl.DataFrame:
    """Balance of the ranks, and the share of their time in no component."""
    rest = (pl.col("wall_s") - pl.sum_horizontal(PARTS_S)).abs() / pl.col("wall_s")
    busy_s = pl.col("gradient_s") + pl.col("denoiser_s")
    return (
        complete.group_by("trial", "rank")
        .agg(
            rest.median().alias("rest_share"),
            busy_s.median().alias("busy_s"),
            pl.col("tiles_here").first(),
        )
        .group_by("trial")
        .agg(
            pl.col("rest_share").max(),
            (pl.col("busy_s").mean() / pl.col("busy_s").max()).alias("balance"),
            (pl.col("tiles_here").mean() / pl.col("tiles_here").max()).alias("tiles_balance"),
        )
        .with_columns(pl.col("balance", "tiles_balance").fill_nan(None))
    )


def baseline(entry: pl.DataFrame) -> pl.DataFrame:
    """Trials that count with the fewest ranks of any that counts; none where none counts."""
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
