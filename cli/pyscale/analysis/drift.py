"""What changed while a run went on: drift over its trials, and a first round unlike the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from pyscale.analysis.intervals import CONFIDENCE, Interval, repeats_needed
from pyscale.analysis.losses import GROUP, OfCurve, in_curve

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

SIZE = 0.05
"""Change, as a fraction of the wall time, below which neither effect is said."""
FIRST_CHANCE = 0.01
"""Chance below which first trials differ. Dividing by medians makes p a little too small: below 5 %
lay 2 to 10 % of curves without any effect."""
MOST_POINTS = 500
"""Points of which all pairs are taken: time and memory grow with their square."""


class Drift(OfCurve):
    """Change of one curve's wall times over the run."""

    trials: int = Field(description="Trials that were timed, of configurations with several")
    change: float = Field(
        description="Theil-Sen slope of wall time over its configuration's median, times the "
        "positions from the curve's first trial to its last: 0.1 is 10 % slower at the end"
    )
    interval: Interval = Field(description="Sen's interval of the change")
    kendall_p: float = Field(description="Chance of so strong an order without drift (Kendall)")
    first_change: float = Field(
        description="Median of the first trials of all configurations over that of the later "
        "ones, each over its configuration's median, less 1; drift that is said is taken out"
    )
    first_p: float = Field(
        description="Chance of first trials so far apart (Mann and Whitney, two-sided)"
    )

    @property
    def drifts(self) -> bool:
        """Whether there is drift to speak of: told from 0, and as large as `SIZE`."""
        apart = self.interval.low > 0 or self.interval.high < 0
        return apart and self.kendall_p < 1 - CONFIDENCE and abs(self.change) >= SIZE

    @property
    def first_differs(self) -> bool:
        """Whether the first trials differ to speak of."""
        return self.first_p < FIRST_CHANCE and abs(self.first_change) >= SIZE

    def sentences(self) -> list[str]:
        """Say what is to be said, with its numbers; nothing where nothing is."""
        found = []
        if self.drifts:
            low, high = sorted(abs(end) for end in self.interval[:2])
            found.append(
                f"Wall times {_direction(self.change)} by {_percent(self.change)} of their median "
                f"over the run ({100 * CONFIDENCE:.0f} % interval {_percent(low)} to "
                f"{_percent(high)}; {self.trials} trials)."
            )
        if self.first_differs:
            found.append(
                f"The first trial of each configuration took {_percent(self.first_change)} "
                f"{'longer' if self.first_change > 0 else 'less'} than its later ones "
                f"(p = {self.first_p:.2g})."
            )
        return found


def drifts(trials: pl.DataFrame) -> list[Drift]:
    """Look for drift in every curve that has enough trials, in the order of the table.

    A trial's wall time is taken relative to the median of its configuration, so that curves of
    any shape line up, and set against its position in the run. Blocks in random order are what
    makes this sound: in a run that measured all of N = 1 first, there is nothing to see.

    The slope is the median of the slopes of all pairs (Theil 1950; Sen 1968, JASA 63:1379, whose
    interval it is), on the trials after each configuration's first: one warm-up is no drift. The
    first trials are compared with the later ones apart from it. More than `MOST_POINTS` later
    trials are taken together with their neighbours in time, in so many groups of equal size: the
    place and the wall time of a group are the medians of its trials. The first trials are then
    compared with so many that came soonest after them.

    Parameters
    ----------
    trials : polars.DataFrame
        As `trial_table` or `trials_from_wall_times` gives them; `position` is null where the
        order of execution is not known. Trials that are not `valid` are left out, and so are
        configurations with fewer than three.

    Returns
    -------
    list of Drift
        None for a curve with fewer than six later trials, or in an order that is not known.

    Notes
    -----
    On 500 simulated curves without either (2 or 4 configurations, 3, 6 or 10 blocks) drift was
    said of 1 to 4 % at 3 % noise, where most is too small to be said, and of 6 % at 10 % noise.
    Drift of 15 % over the run was found in all of 500 at 3 % noise.
    On 200 curves of 2,000 trials, taken together in groups, the interval covered no drift in 92 to
    95 % and one of 15 % in 97 %, which was found each time.
    """
    import polars as pl

    found = []
    one = [*GROUP, "workers"]
    timed = trials.filter("valid").filter(pl.len().over(one) >= 3)
    relative = timed.sort("position").select(
        *GROUP,
        "position",
        relative=pl.col("wall_s") / pl.col("wall_s").median().over(one),
        is_first=pl.col("position") == pl.col("position").min().over(one),
    )
    for key in trials.select(GROUP).unique(maintain_order=True).iter_rows(named=True):
        curve = relative.filter(in_curve(key))
        in_order = curve["position"].null_count() == 0
        if in_order and (~curve["is_first"]).sum() >= repeats_needed():
            found.append(_of_curve(key, curve))
    return found


def _of_curve(key: dict[str, str], curve: pl.DataFrame) -> Drift:
    import numpy as np
    from scipy.stats import kendalltau, mannwhitneyu, theilslopes

    positions = curve["position"].to_numpy().astype(float)
    relative = curve["relative"].to_numpy()
    later = ~curve["is_first"].to_numpy()
    span = float(positions[-1] - positions[0])
    at, level = _points(positions[later]), _points(relative[later])
    line = theilslopes(level, at, alpha=CONFIDENCE)
    drift = Drift(
        **key,
        trials=curve.height,
        change=float(line.slope) * span,
        interval=Interval(float(line.low_slope) * span, float(line.high_slope) * span, CONFIDENCE),
        kendall_p=_chance(float(kendalltau(at, level).pvalue)),
        first_change=0.0,
        first_p=1.0,
    )
    if drift.drifts:
        relative = relative - line.slope * (positions - np.median(positions[later]))
    first, others = relative[~later], relative[later][:MOST_POINTS]
    first_p = mannwhitneyu(first, others).pvalue
    first_change = np.median(first) / np.median(others) - 1
    return drift.model_copy(
        update={"first_change": float(first_change), "first_p": _chance(float(first_p))}
    )


def _points(values: Array) -> Array:
    """Medians of as many groups of neighbours as there may be points; few values as they are."""
    import numpy as np

    groups = np.array_split(values, min(len(values), MOST_POINTS))
    return np.array([np.median(group) for group in groups])


def _chance(pvalue: float) -> float:
    """Give 1 where all values tie, of which the tests make nan."""
    from math import isnan

    return 1.0 if isnan(pvalue) else pvalue


def _direction(change: float) -> str:
    return "rose" if change > 0 else "fell"


def _percent(change: float) -> str:
    return f"{100 * abs(change):.0f} %"
