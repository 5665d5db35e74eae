"""Drift of wall times over the blocks of a run."""

from __future__ import annotations

import numpy as np
import polars as pl
from pydantic import Field

from pyscale.analysis.intervals import CONFIDENCE, repeats_needed
from pyscale.analysis.losses import GROUP, OfCurve
from pyscale_stages.wording import plural

SIZE = 0.05
"""Change, as a fraction of the wall time, below which nothing is said."""
SURE = (1 + CONFIDENCE) / 2
"""Confidence of a drift: two lines are looked at."""
LEAST_BLOCKS = 3
"""Without which nothing is said: a line and its error need as many."""


class Drift(OfCurve):
    """Change of one curve's wall times over the run, beyond chance."""

    trials: int = Field(description="Trials it was found in")
    blocks: int = Field(description="Blocks that they belong to")
    change: float = Field(description="Of the median from first to last: 0.1 is 10 % slower")
    reach: float = Field(description="Half the width of its interval (Student's)")

    def sentence(self) -> str:
        """State the drift with its numbers."""
        went, size = "rose" if self.change > 0 else "fell", abs(self.change)
        ends = f"{100 * (size - self.reach):.0f} % to {100 * (size + self.reach):.0f} %"
        return (
            f"Wall times {went} by {100 * size:.0f} % of their median over the run "
            f"({100 * SURE:g} % interval {ends}; {plural(self.trials, 'trial')} in "
            f"{plural(self.blocks, 'block')})."
        )


def drifts(trials: pl.DataFrame) -> list[Drift]:
    """Find every curve that drifts, in the order of the table.

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
    found = []
    for key in trials.select(GROUP).unique(maintain_order=True).iter_rows():
        curve = curves.get(key)
        if curve is None or curve["position"].null_count():
            continue
        blocks = curve.group_by("is_later", "block", maintain_order=True).agg(
            pl.col("position", "wall_s").median()
        )
        line = _slope(blocks) or _slope(blocks.filter("is_later"))
        span = curve["position"].to_list()[-1] - curve["position"].to_list()[0]
        if curve["is_later"].sum() >= repeats_needed() and line and abs(line[0]) * span >= SIZE:
            change, reach = (number * span for number in line)
            told = {"trials": curve.height, "blocks": curve["block"].n_unique()}
            named = dict(zip(GROUP, key, strict=True))
            found.append(Drift(**named, **told, change=change, reach=reach))
    return found


def _slope(blocks: pl.DataFrame) -> tuple[float, float] | None:
    """Change per position of the line through some blocks, and its reach; None if by chance."""
    from scipy.special import stdtrit

    at, level = blocks["position"].to_numpy(), blocks["wall_s"].to_numpy()
    if len(at) < LEAST_BLOCKS or np.ptp(at) == 0:
        return None
    # Around 0, levels that are all the same have a slope of exactly 0.
    (slope, _), covariance = np.polyfit(at, level - level.mean(), 1, cov=True)
    quantile = stdtrit(len(at) - 2, (1 + SURE) / 2)
    reach = float(quantile * np.sqrt(covariance[0, 0]))
    return (float(slope), reach) if abs(slope) > reach else None
