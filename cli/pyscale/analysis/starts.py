"""What warm workers gain: their start once, and their windows beside those of new processes."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl

MANY = 100
"""Movies of the second answer: what a group has after a season at the microscope."""


def start_schema() -> dict[str, Any]:
    """Columns of `starts`; times are means over the timed trials.

    family, stage, warm_stage, device, workers
        Entry of the suite's file; its point whose windows are new processes, and the one whose
        windows are done by warm workers; their device and N.
    origin
        fork or kept: what does a window of the warm one.
    worker_start_s
        From the start of a warm worker until it can begin: container, interpreter, imports, model.
    window_cold_s, window_warm_s
        Wall time of a window.
    windows_to_repay
        Windows after which a worker has saved its start; null where a warm window saves nothing.
    movie_cold_s, movie_warm_s, movies_cold_s, movies_warm_s
        Time to the result of one movie, and of a hundred one after the other; the start of the
        workers is in the warm ones, once.
    identical
        Whether both starts gave the same bytes; null where that was not compared.
    """
    text, real = pl.String, pl.Float64
    return {
        "family": text,
        "stage": text,
        "warm_stage": text,
        "device": text,
        "workers": pl.Int64,
        "origin": text,
        "worker_start_s": real,
        "window_cold_s": real,
        "window_warm_s": real,
        "windows_to_repay": pl.Int64,
        "movie_cold_s": real,
        "movie_warm_s": real,
        "movies_cold_s": real,
        "movies_warm_s": real,
        "identical": pl.Boolean,
    }


def starts(tasks: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Set each entry of warm workers beside the one of new processes that does the same.

    Parameters
    ----------
    tasks : polars.DataFrame
        As `pyscale.store.tables.task_schema` describes them.
    trials : polars.DataFrame
        As `trial_table` gives them for these tasks; those that are not valid are left out.

    Returns
    -------
    polars.DataFrame
        See `start_schema`; a row for each N that both were timed at.
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
    return pl.DataFrame(rows, start_schema(), orient="row")


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
