"""Numbers that stages measure of their work: of each trial, over N, and against the baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from pyscale.analysis.declared import FLAG, REAL, TEXT, WHOLE, columns
from pyscale.analysis.intervals import median_with_ends
from pyscale.analysis.judging import MARGIN
from pyscale.analysis.losses import GROUP
from pyscale_stages.measured import Over

OVER: dict[Over, Callable[[pl.Expr], pl.Expr]] = {
    "sum": pl.Expr.sum,
    "mean": pl.Expr.mean,
    "most": pl.Expr.max,
    "least": pl.Expr.min,
}
"""How what the windows of a trial tell becomes one number."""
DECLARED = ("unit", "better", "means")
"""Columns that tell what a number is."""


def measured_trials(measures: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Take what the tasks of each timed trial measured together, a row a trial and number.

    What a merge tells is of the whole output, so that it counts in place of what windows tell.
    """
    one = ["trial", "name"]
    is_merged = pl.col("verb") == "merge"
    whole = measures.filter(is_merged | ~is_merged.any().over(one))
    over = pl.col("over").first()
    folded = pl.coalesce(
        pl.when(over == how).then(fold(pl.col("value"))) for how, fold in OVER.items()
    )
    found = whole.group_by(one, maintain_order=True).agg(
        folded.alias("value"), *(pl.col(name).first() for name in DECLARED)
    )
    timed = trials.filter("valid").select("trial", *GROUP, "workers")
    return timed.join(found, on="trial", maintain_order="left_right")


POINT_SCHEMA = columns(
    (TEXT, "suite stage device"),
    (WHOLE, "workers"),
    (TEXT, "name unit better means"),
    (WHOLE, "repeats"),
    (REAL, "value value_low value_high"),
    (WHOLE, "baseline_workers"),
    (REAL, "over_baseline"),
    (FLAG, "worse"),
)


def measured_points(of_trials: pl.DataFrame) -> pl.DataFrame:
    """Give the median of each number over the trials at each N, beside that at the fewest workers.

    `worse` is true where the medians differ by more than 5 % of the baseline's size that way, and
    the intervals do not overlap; without intervals it is null. `over_baseline` is null where the
    baseline is 0.
    """
    one = [*GROUP, "name"]
    rows: list[dict[str, Any]] = []
    for _, own in of_trials.sort("workers", maintain_order=True).group_by(one, maintain_order=True):
        base: dict[str, Any] | None = None
        for (workers,), at in own.group_by("workers", maintain_order=True):
            values = at["value"].to_list()
            row = {name: at[name][0] for name in (*one, *DECLARED)} | {
                "workers": workers,
                "repeats": len(values),
                **median_with_ends("value", values),
            }
            # N rises, so the first is the baseline.
            base = base or row
            row["baseline_workers"] = base["workers"]
            row["over_baseline"] = row["value"] / base["value"] if base["value"] else None
            row["worse"] = _is_worse(row, base)
            rows.append(row)
    return pl.DataFrame(rows, POINT_SCHEMA, orient="row")


def _is_worse(row: dict[str, Any], base: dict[str, Any]) -> bool | None:
    if None in (row["better"], row["value_low"], base["value_low"]):
        return None
    # A difference, as a ratio turns round below 0 and does not exist at 0.
    rise, counts = row["value"] - base["value"], MARGIN * abs(base["value"])
    if row["better"] == "higher":
        return bool(-rise > counts and row["value_high"] < base["value_low"])
    return bool(rise > counts and row["value_low"] > base["value_high"])
