"""One row a trial of reconstruction: what its ranks measured in all iterations, taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.reconstruct.columns import DEVIATIONS, GATES, QUALITY, trial_schema
from pyscale.analysis.reconstruct.components import EVERY, column
from pyscale_stages.reconstruction import COMPONENTS

if TYPE_CHECKING:
    import polars as pl

PARTS_S = tuple(f"{name}_s" for name in COMPONENTS)
TIMES_S = tuple(f"{column(name)}_s" for name in EVERY)
OF_FIRST_RANK = (*QUALITY, *GATES, "gate_interior_px", "gate_why_not")
ALIKE = (
    *("shape", "operators", "tile_px", "overlap_px", "tiles", "work_multiplier"),
    *("weights", "timing_only", "backend", "device", *DEVIATIONS),
)
"""What is the same on every rank that tells it."""


def reconstruct_trials(
    reconstruction: pl.DataFrame, *, count_retried: bool = False
) -> pl.DataFrame:
    """Take the ranks and iterations of each trial together.

    Parameters
    ----------
    reconstruction : polars.DataFrame
        One row an iteration of a rank of a trial, as
        `pyscale.store.reconstructioncolumns.reconstruction_schema` describes it.
    count_retried : bool
        Whether a trial that succeeded only when tried again counts too.

    Returns
    -------
    polars.DataFrame
        Columns of `pyscale.analysis.reconstruct.columns.trial_schema`, in the order of
        `reconstruction`.
    """
    import polars as pl

    table = (
        reconstruction.group_by("trial", maintain_order=True)
        .agg(*_header(), *_told(), *_shares())
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
    import polars as pl

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
    ]


def _told() -> list[pl.Expr]:
    """What ranks tell beside their times."""
    import polars as pl

    memory = pl.col("memory_peak_bytes")
    in_order = [pl.col(name).sort_by("rank").drop_nulls().first() for name in OF_FIRST_RANK]
    names = pl.col("device_name").drop_nulls().unique().sort().str.join(", ")
    return [
        *(pl.col(name).drop_nulls().first() for name in ALIKE),
        *in_order,
        pl.when(pl.col("device_name").is_not_null().any()).then(names).alias("device_name"),
        pl.when(memory.null_count() == 0).then(memory.max()),
        pl.col("memory_total_bytes").min(),
        pl.col("setup_s").max(),
    ]


def _shares() -> list[pl.Expr]:
    """Sums over all iterations of all ranks: these, unlike medians, add up to the whole."""
    import polars as pl

    whole = pl.col("wall_s").sum()
    shares = [(pl.col(f"{name}_s").sum() / whole).alias(f"{name}_share") for name in COMPONENTS]
    return [whole.alias("ranks_s"), *shares]


def _times(complete: pl.DataFrame) -> pl.DataFrame:
    """Give medians over iterations of the longest and of the mean time of the ranks."""
    import polars as pl

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
    """How evenly work was shared by ranks, and how much of their time is in no component."""
    import polars as pl

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
