"""Changes during a run: drift over its blocks, and a first round unlike the rest."""

from __future__ import annotations

import numpy as np
import polars as pl
from pydantic import Field

from pyscale.analysis.intervals import CONFIDENCE, Array, Interval, repeats_needed
from pyscale.analysis.losses import GROUP, OfCurve
from pyscale_stages.wording import plural

SIZE = 0.05
"""Change, as a fraction of the wall time, below which neither effect is said."""
FIRST_CHANCE = 0.01
"""Chance below which first trials differ."""
LEAST_BLOCKS = 4
"""Blocks without which nothing is said: the line through the later ones needs three."""


class Drift(OfCurve):
    """Change of one curve's wall times over the run."""

    trials: int = Field(description="Trials that were timed, of configurations with several")
    blocks: int = Field(description="Blocks that they belong to")
    change: float = Field(
        description="Slope of the line through the blocks, whose values are medians of wall time "
        "over its configuration's median, times the positions from the curve's first trial to its "
        "last: 0.1 is 10 % slower at the end"
    )
    interval: Interval = Field(description="Student's interval of the change")
    first_change: float = Field(
        description="Median of the first trials of all configurations less the mean of the later "
        "blocks, over that mean; drift of the later blocks is taken out"
    )
    first_p: float = Field(
        description="Chance of first trials so far apart (Student's prediction of one more block)"
    )

    @property
    def drifts(self) -> bool:
        """Whether drift is distinguishable from 0, and as large as `SIZE`."""
        return _is_drift(self.change, self.interval)

    @property
    def first_differs(self) -> bool:
        """Whether the first trials differ beyond chance, and by `SIZE` or more."""
        return self.first_p < FIRST_CHANCE and abs(self.first_change) >= SIZE

    def sentences(self) -> list[str]:
        """State drift and differing first trials, with their numbers."""
        found = []
        if self.drifts:
            low, high = sorted(abs(end) for end in self.interval[:2])
            went = "rose" if self.change > 0 else "fell"
            found.append(
                f"Wall times {went} by {_percent(self.change)} of their median "
                f"over the run ({100 * CONFIDENCE:.0f} % interval {_percent(low)} to "
                f"{_percent(high)}; {plural(self.trials, 'trial')} in "
                f"{plural(self.blocks, 'block')})."
            )
        if self.first_differs:
            found.append(
                f"The first trial of each configuration took {_percent(self.first_change)} "
                f"{'longer' if self.first_change > 0 else 'less'} than its later ones "
                f"(p = {self.first_p:.2g})."
            )
        return found


def drifts(trials: pl.DataFrame) -> list[Drift]:
    """Look for drift in every curve that has enough blocks, in the order of the table.

    A trial's wall time is taken relative to the median of its configuration, so that curves of any
    shape line up, and set against its position in the run. Blocks in random order are what makes
    this sound: in a run that measured all of N = 1 first, there is little to see.

    The unit is the block: its trials share what else the machine did meanwhile, so they are not
    independent, and its place and wall time are the medians of theirs. Drift is the least squares
    line through the blocks. The first trials of all configurations are one more block; they are
    compared with the level of the later blocks or, where these drift, with their line, and are left
    out of the drift where they differ: one warm-up is no drift.

    `position` is null where the order of execution is not known, and nothing is then said. How much
    drift is found is simulated in `benchmarks/sim_drift.py`.
    """
    one = [*GROUP, "workers"]
    timed = trials.filter("valid").filter(pl.len().over(one) >= 3)
    relative = timed.sort("position").select(
        *GROUP,
        "block",
        "position",
        relative=pl.col("wall_s") / pl.col("wall_s").median().over(one),
        is_first=pl.col("position") == pl.col("position").min().over(one),
    )
    curves = relative.partition_by(GROUP, as_dict=True)
    found = []
    for key in trials.select(GROUP).unique(maintain_order=True).iter_rows():
        curve = curves.get(key)
        if curve is None or curve["position"].null_count():
            continue
        later = curve.filter(~pl.col("is_first"))
        if later.height >= repeats_needed() and later["block"].n_unique() >= LEAST_BLOCKS - 1:
            found.append(_of_curve(dict(zip(GROUP, key, strict=True)), curve))
    return [drift for drift in found if drift is not None]


def _of_curve(key: dict[str, str], curve: pl.DataFrame) -> Drift | None:
    """Find what one curve's blocks tell; None where all later ones are about one moment."""
    middle = pl.col("position", "relative").median()
    first_at, first = curve.filter("is_first").select(middle).row(0)
    later = curve.filter(~pl.col("is_first")).group_by("block", maintain_order=True).agg(middle)
    at, level = later["position"].to_numpy(), later["relative"].to_numpy()
    if np.ptp(at) == 0:
        return None
    span = curve["position"].to_list()[-1] - curve["position"].to_list()[0]
    change, interval = _line(at, level, span)
    # A slope that may be chance is not followed back to the first block.
    slope = change / span if _is_drift(change, interval) else 0.0
    first_change, first_p = _apart(first, first_at, at, level, slope)
    found = Drift(
        **key,
        trials=curve.height,
        blocks=curve["block"].n_unique(),
        change=change,
        interval=interval,
        first_change=first_change,
        first_p=first_p,
    )
    # One warm-up is no drift: only a first block like the others is among them.
    if found.first_differs:
        return found
    change, interval = _line(np.append(at, first_at), np.append(level, first), span)
    return found.model_copy(update={"change": change, "interval": interval})


def _line(at: Array, level: Array, span: int) -> tuple[float, Interval]:
    """Fit a line to blocks: its change over so many positions, with Student's interval."""
    from scipy.special import stdtrit

    # Around 0, levels that are all the same have a slope of exactly 0.
    (slope, _), covariance = np.polyfit(at, level - level.mean(), 1, cov=True)
    change = float(slope) * span
    quantile = stdtrit(len(at) - 2, (1 + CONFIDENCE) / 2)
    reach = float(quantile * np.sqrt(covariance[0, 0])) * span
    return change, Interval(change - reach, change + reach, CONFIDENCE)


def _apart(
    first: float, first_at: float, at: Array, level: Array, slope: float
) -> tuple[float, float]:
    """Distance of the first block from the line of the later ones, and its chance."""
    from scipy.special import stdtr

    offset, first_offset = at - at.mean(), first_at - at.mean()
    expected = level.mean() + slope * first_offset
    rest = level - level.mean() - slope * offset
    degrees = len(at) - (2 if slope else 1)
    # A slope is uncertain too, the more so the farther away it is followed.
    lever = first_offset**2 / (offset @ offset) if slope else 0.0
    error = np.sqrt(rest @ rest / degrees * (1 + 1 / len(at) + lever))
    change = float((first - expected) / level.mean())
    # Later blocks without scatter leave nothing to chance.
    if error == 0:
        return change, float(first == expected)
    return change, float(2 * stdtr(degrees, -abs(first - expected) / error))


def _is_drift(change: float, interval: Interval) -> bool:
    return (interval.low > 0 or interval.high < 0) and abs(change) >= SIZE


def _percent(change: float) -> str:
    return f"{100 * abs(change):.0f} %"
