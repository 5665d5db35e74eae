"""How long some tasks were in each phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyscale_stages.contract import PHASES

if TYPE_CHECKING:
    import polars as pl

TASK_PHASES = tuple(phase for phase in PHASES if phase not in {"queue", "unattributed"})
"""Phases that a task records as spans. Queue wait comes before a task, and what no span
covers is found by subtraction."""
PHASE_COLUMNS = tuple(f"phase_{phase}_s" for phase in TASK_PHASES)


def phase_sums(spans: pl.DataFrame, tasks: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Sum the spans of some tasks by phase.

    Parameters
    ----------
    spans : polars.DataFrame
        One row per span: `trial`, `task`, `phase`, `wall_s`.
    tasks : polars.DataFrame
        Those that count, each once: `trial`, `task` and the columns of `by`.
    by : sequence of str
        What the sums are of, like a trial.

    Returns
    -------
    polars.DataFrame
        `by` and `PHASE_COLUMNS`, one row for each group that has a span; 0 where it has none of a
        phase.
    """
    import polars as pl

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
