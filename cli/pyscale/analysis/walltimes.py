"""Trials from a plain table of wall times that were measured elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.analysis.trials import TIMING_COLUMNS

if TYPE_CHECKING:
    import polars as pl


MEASURED = {"slowest_s", "shortest_s", "wall_s", "busy_s", "idle_s"}
"""The times of a trial that follow from wall times alone."""


def trials_from_wall_times(table: pl.DataFrame, suite: str = "table") -> pl.DataFrame:
    """Shape published wall times as trials, so that the same analysis serves them.

    Three kinds of rows may be mixed. With `task`, a row is one task, and a trial is the tasks
    of one stage, worker count and repeat. With `mean_task_s`, a row is one trial of which the
    mean over its `tasks` is known too. With neither, a row is one trial of which only the
    wall time is known; with one worker this is its task's time as well.

    No phases are known, so nothing is said of useful work; whole-task times give the load
    balance and `sum t(N0) / sum t(N)`.

    Parameters
    ----------
    table : polars.DataFrame
        `stage, workers, wall_s` and any of `repeat, task, tasks, mean_task_s`.
    suite : str
        What to call the table.

    Returns
    -------
    polars.DataFrame
        Columns of `trial_table`; what was not measured is null. Repeats are numbered by
        `repeat`, else 0.
    """
    import polars as pl

    optional = {
        "repeat": pl.Int64,
        "task": pl.String,
        "tasks": pl.Int64,
        "mean_task_s": pl.Float64,
    }
    table = table.with_columns(
        pl.lit(None, dtype=dtype).alias(column)
        for column, dtype in optional.items()
        if column not in table.columns
    ).with_columns(pl.col("repeat").fill_null(0))

    is_task = pl.col("task").is_not_null()
    sum_of_tasks_s = (
        pl.when(is_task | (pl.col("workers") == 1) & pl.col("mean_task_s").is_null())
        .then("wall_s")
        .otherwise(pl.col("mean_task_s") * pl.col("tasks").fill_null(pl.col("workers")))
    )
    trials = (
        table.with_columns(sum_of_tasks_s=sum_of_tasks_s)
        .group_by("stage", "workers", "repeat", maintain_order=True)
        .agg(
            slowest_s=pl.col("wall_s").max(),
            shortest_s=pl.when(is_task.all()).then(pl.col("wall_s").min()),
            busy_s=pl.when(pl.col("sum_of_tasks_s").is_not_null().all()).then(
                pl.col("sum_of_tasks_s").sum()
            ),
        )
    )
    return trials.select(
        suite=pl.lit(suite),
        stage="stage",
        device=pl.lit(None, dtype=pl.String),
        workers=pl.col("workers").cast(pl.Int64),
        trial=pl.format("{}/{}/{}", "stage", "workers", "repeat"),
        block="repeat",
        position=pl.int_range(pl.len(), dtype=pl.Int64),
        slowest_s="slowest_s",
        shortest_s="shortest_s",
        wall_s="slowest_s",
        busy_s="busy_s",
        idle_s=pl.col("workers") * pl.col("slowest_s") - pl.col("busy_s"),
        attempt=pl.lit(1, dtype=pl.Int64),
        failed=pl.lit(False),
        complete=pl.lit(True),
        valid=pl.lit(True),
        **_not_measured(),
    )


def _not_measured() -> dict[str, Any]:
    """Columns of a trial that a table of wall times cannot fill."""
    import polars as pl

    timing = (column for column in TIMING_COLUMNS if column not in MEASURED)
    numbers = (*timing, "clock_error_s", "agreement")
    whole_numbers = (
        "windows",
        "nodes",
        "peak_rss_bytes",
        "requested_memory_bytes",
        "requested_cpus",
    )
    others = {
        "cache_state": pl.String,
        "quality": pl.String,
        "hardware": pl.List(pl.String),
        "oversubscribed": pl.Boolean,
        "disturbed": pl.Boolean,
        "agreement_same": pl.Boolean,
        "agreement_identical": pl.Boolean,
        "check_failed": pl.Boolean,
    }
    kinds: dict[str, Any] = {
        **dict.fromkeys(numbers, pl.Float64),
        **dict.fromkeys(whole_numbers, pl.Int64),
        **others,
    }
    return {name: pl.lit(None, dtype=kind) for name, kind in kinds.items()}
