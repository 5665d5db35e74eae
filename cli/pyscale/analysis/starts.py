"""What warm workers gain: their start once, and their windows beside those of new processes."""

from __future__ import annotations

import json

import polars as pl

from pyscale.analysis.schema import FLAG, REAL, TEXT, WHOLE, columns

MANY = 100
"""Movies of the second answer: what a group has after a season at the microscope."""


START_SCHEMA = columns(
    (TEXT, "family stage warm_stage device"),
    (WHOLE, "workers"),
    (TEXT, "origin"),
    (REAL, "worker_start_s window_cold_s window_warm_s"),
    (WHOLE, "windows_to_repay"),
    (REAL, "movie_cold_s movie_warm_s movies_cold_s movies_warm_s"),
    (FLAG, "identical"),
)


def starts(tasks: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Set each entry of warm workers beside that of new processes that does the same, at each N."""
    valid = trials.filter("valid")
    windows = tasks.filter((pl.col("verb") == "run") & pl.col("trial").is_in(valid["trial"]))
    kinds = ["family", "work", "device", "workers"]
    each = (
        windows.with_columns(work=pl.col("point").map_elements(_without_start, pl.String))
        .group_by(*kinds, "start", "stage", maintain_order=True)
        .agg(
            pl.col("origin").drop_nulls().first(),
            # Of one worker, however many windows it has done.
            worker_start_s=pl.col("worker_start_s").unique().mean(),
            window_s=pl.col("wall_s").mean(),
        )
        .join(
            valid.group_by("stage", "workers").agg(movie_s=pl.col("wall_s").mean()),
            on=["stage", "workers"],
            maintain_order="left",
        )
    )
    cold, warm = (each.filter(pl.col("start") == start).drop("start") for start in ("cold", "warm"))
    both = cold.drop("origin", "worker_start_s").join(
        warm, on=kinds, suffix="_warm", maintain_order="left"
    )
    beside = (
        tasks.filter(pl.col("task") == "beside")
        .group_by(stage_warm="stage", workers="workers")
        .agg(identical=pl.col("beside_identical").min())
    )
    saved_s = pl.col("window_s") - pl.col("window_s_warm")
    repaid = (pl.col("worker_start_s") / saved_s).ceil()
    return (
        both.join(beside, on=["stage_warm", "workers"], how="left", maintain_order="left")
        .with_columns(
            warm_stage="stage_warm",
            window_cold_s="window_s",
            window_warm_s="window_s_warm",
            # Windows that save nothing never repay a start.
            windows_to_repay=pl.when(saved_s > 0).then(repaid),
            movie_cold_s="movie_s",
            movie_warm_s=pl.col("movie_s_warm") + pl.col("worker_start_s"),
            movies_cold_s=pl.col("movie_s") * MANY,
            movies_warm_s=pl.col("movie_s_warm") * MANY + pl.col("worker_start_s"),
        )
        .select(pl.col(name).cast(kind) for name, kind in START_SCHEMA.items())
    )


def _without_start(point: str) -> str:
    """The place in a grid, without how its windows start."""
    return json.dumps({axis: v for axis, v in json.loads(point).items() if axis != "start"})
