"""What warm workers gain: their start once, and their windows beside those of new processes."""

from __future__ import annotations

import json
import math
from typing import Any

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
    """Set each entry of warm workers beside the one of new processes that does the same.

    There is a row for each N that both were timed at.
    """
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
    rows = [_row(row, tasks) for row in both.iter_rows(named=True)]
    return pl.DataFrame(rows, START_SCHEMA, orient="row")


def _row(row: dict[str, Any], tasks: pl.DataFrame) -> dict[str, Any]:
    start_s = row["worker_start_s"]
    saved_s = row["window_s"] - row["window_s_warm"]
    beside = tasks.filter(
        (pl.col("task") == "beside")
        & (pl.col("stage") == row["stage_warm"])
        & (pl.col("workers") == row["workers"])
    )["beside_identical"].drop_nulls()
    return {
        "family": row["family"],
        "stage": row["stage"],
        "warm_stage": row["stage_warm"],
        "device": row["device"],
        "workers": row["workers"],
        "origin": row["origin"],
        "worker_start_s": start_s,
        "window_cold_s": row["window_s"],
        "window_warm_s": row["window_s_warm"],
        "windows_to_repay": None
        if start_s is None or saved_s <= 0
        else math.ceil(start_s / saved_s),
        "movie_cold_s": row["movie_s"],
        "movie_warm_s": None if start_s is None else row["movie_s_warm"] + start_s,
        "movies_cold_s": row["movie_s"] * MANY,
        "movies_warm_s": None if start_s is None else row["movie_s_warm"] * MANY + start_s,
        "identical": bool(beside.all()) if len(beside) else None,
    }


def _without_start(point: str) -> str:
    """The place in a grid, without how its windows start."""
    return json.dumps({axis: v for axis, v in json.loads(point).items() if axis != "start"})
