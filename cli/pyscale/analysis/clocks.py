"""Times that several nodes told, on one clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def on_one_clock(tasks: pl.DataFrame, spans: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Shift the times of every node to the clock of the machine that ran pyscale.

    All tasks of a trial on one node are shifted alike, by the offset that was measured best:
    each task's own would move tasks of one clock against each other. Where no task of the
    trial on that node has one, the times stay as the node told them.

    Parameters
    ----------
    tasks : polars.DataFrame
        With `clock_offset_s` (the node's clock minus the orchestrator's) and `clock_error_s` as
        each launcher found them, null where it got no answer.
    spans : polars.DataFrame

    Returns
    -------
    tasks, spans : polars.DataFrame
        With corrected times; `clock_offset_s` and `clock_error_s` are those that were used.
    """
    import polars as pl

    best = [
        pl.col(column).sort_by("clock_error_s", nulls_last=True).first().over("trial", "node")
        for column in ("clock_offset_s", "clock_error_s")
    ]
    tasks = tasks.with_columns(best)
    offsets = tasks.select("trial", "task", "clock_offset_s").unique(("trial", "task"))
    shifted = spans.join(offsets, on=("trial", "task"), how="left", maintain_order="left")
    return (
        tasks.with_columns(_corrected(column) for column in ("begin_utc", "start_utc", "end_utc")),
        shifted.with_columns(_corrected("start_utc")).drop("clock_offset_s"),
    )


def _corrected(column: str) -> pl.Expr:
    import polars as pl

    ahead_us = (pl.col("clock_offset_s").fill_null(0.0) * 1e6).round().cast(pl.Int64)
    return pl.col(column) - pl.duration(microseconds=ahead_us)
