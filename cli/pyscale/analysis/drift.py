"""Drift of wall times over the blocks of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from pyscale.analysis.intervals import CONFIDENCE, repeats_needed
from pyscale.analysis.losses import GROUP

SIZE = 0.05
"""Change, as a fraction of the wall time, below which nothing is said."""
SURE = (1 + CONFIDENCE) / 2
"""Confidence of a drift: two lines are looked at."""
LEAST_BLOCKS = 3
"""Without which nothing is said: a line and its error need as many."""


def drifting(trials: pl.DataFrame) -> set[tuple[Any, ...]]:
    """Find every curve that drifts beyond chance, each by its values of `GROUP`.

    A trial's wall time is taken relative to the median of its configuration, so that curves of any
    shape line up, and set against its position in the run. Blocks in random order are what makes
    this sound: in a run that measured all of N = 1 first, there is little to see.

    The unit is the block: its trials share what else the machine did meanwhile, so they are not
    independent, and its place and wall time are the medians of theirs. The first trials of all
    configurations are one more block. As a warm-up is no drift and may hide one, the line through
    the later blocks is looked at too where the line through all has no slope beyond chance.

    `position` is null where the order of execution is not known, and nothing is then said. How much
    drift is found is simulated in `benchmarks/sim_drift.py`.
    """
    one = [*GROUP, "workers"]
    timed = trials.filter("valid").filter(pl.len().over(one) >= 3).sort("position")
    relative = timed.with_columns(
        pl.col("wall_s") / pl.col("wall_s").median().over(one),
        is_later=pl.col("position") > pl.col("position").min().over(one),
    )
    curves = relative.partition_by(GROUP, as_dict=True)
    found: set[tuple[Any, ...]] = set()
    for key in trials.select(GROUP).unique(maintain_order=True).iter_rows():
        curve = curves.get(key)
        if curve is None or curve["position"].null_count():
            continue
        blocks = curve.group_by("is_later", "block", maintain_order=True).agg(
            pl.col("position", "wall_s").median()
        )
        slope = _slope(blocks) or _slope(blocks.filter("is_later"))
        span = curve["position"].to_list()[-1] - curve["position"].to_list()[0]
        if curve["is_later"].sum() >= repeats_needed() and abs(slope) * span >= SIZE:
            found.add(key)
    return found


def _slope(blocks: pl.DataFrame) -> float:
    """Change per position of the line through some blocks; 0 where it may be chance."""
    from scipy.special import stdtrit

    at, level = blocks["position"].to_numpy(), blocks["wall_s"].to_numpy()
    if len(at) < LEAST_BLOCKS or np.ptp(at) == 0:
        return 0.0
    # Around 0, levels that are all the same have a slope of exactly 0.
    (slope, _), covariance = np.polyfit(at, level - level.mean(), 1, cov=True)
    quantile = stdtrit(len(at) - 2, (1 + SURE) / 2)
    reach = float(quantile * np.sqrt(covariance[0, 0]))
    return float(slope) if abs(slope) > reach else 0.0
