"""Time of tasks in each phase."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pyscale_stages.contract import PHASES

TASK_PHASES = tuple(phase for phase in PHASES if phase not in {"queue", "unattributed"})
"""Phases that a task records as spans. Queue wait comes before a task, and what no span
covers is found by subtraction."""
PHASE_COLUMNS = tuple(f"phase_{phase}_s" for phase in TASK_PHASES)


def phase_sums(spans: pl.DataFrame, tasks: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Sum the spans of some tasks by phase."""
    # A column for each phase, then plain sums: polars does these far faster than filtered ones.
    return (
        spans.select("trial", "task", "phase", "wall_s")
        .join(tasks.select({"trial", "task", *by}), on=("trial", "task"))
        .select(
            *by,
            *(
                pl.when(pl.col("phase") == phase).then("wall_s").otherwise(0.0).alias(column)
                for phase, column in zip(TASK_PHASES, PHASE_COLUMNS, strict=True)
            ),
        )
        .group_by(by)
        .agg(pl.col(PHASE_COLUMNS).sum())
    )
