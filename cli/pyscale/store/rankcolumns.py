"""What the tables with a row for each rank have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

OF_TASK = (
    *("trial", "suite", "stage", "family", "point", "workers", "block", "task", "attempt"),
    *("status", "error", "node", "hardware", "oversubscribed", "disturbed"),
)
"""Columns that are as in the table of tasks."""


def rank_schema() -> dict[str, pl.DataType]:
    """Columns of `OF_TASK`, and which of the ranks it is."""
    import polars as pl

    text, whole, flag = pl.String(), pl.Int64(), pl.Boolean()
    return {
        "trial": text,
        "suite": text,
        "stage": text,
        "family": text,
        "point": text,
        "workers": whole,
        "block": whole,
        "task": text,
        "rank": whole,
        "attempt": whole,
        "status": text,
        "error": text,
        "node": text,
        "hardware": text,
        "oversubscribed": flag,
        "disturbed": flag,
    }
