"""Doubts about times that were measured elsewhere: coarse steps, and one N after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import polars as pl

from pyscale.analysis.intervals import Interval

STEPS_S = (1.0, 0.1, 0.01, 0.001)
"""Steps to which programs round times; Slurm's accounting has whole seconds."""
COARSE = 0.75
"""Step, as a share of the standard deviation of the trials, from which it is not small."""
NOTICEABLE = 0.01
"""Step, as a share of the wall time, from which it raises a doubt."""


def rounded_to(times_s: Sequence[float]) -> float | None:
    """Largest usual step of which all times are multiples; None where there is none."""
    for step_s in STEPS_S:
        steps = np.asarray(times_s) / step_s
        if np.allclose(steps, np.round(steps), rtol=0, atol=1e-6):
            return step_s
    return None


def coarse_step(trials: pl.DataFrame) -> float:
    """Step of the times of one configuration where it is not small beside their scatter, else 0."""
    walls_s, step_s = trials["wall_s"], trials["rounded_to_s"].max()
    if not isinstance(step_s, float) or len(walls_s) < 2:
        return 0.0
    scatter_s = walls_s.std()
    assert isinstance(scatter_s, float)
    return step_s if step_s > COARSE * scatter_s else 0.0


def widened(interval: Interval | None, step_s: float) -> Interval | None:
    """Interval of a median of times that are rounded to a step: half of it wider on either side."""
    if interval is None or not step_s:
        return interval
    low, high, coverage = interval
    return Interval(max(0.0, low - step_s / 2), high + step_s / 2, coverage)


def widened_ratio(
    interval: Interval | None, top_s: tuple[float, float], bottom_s: tuple[float, float]
) -> Interval | None:
    """Interval of a ratio of two times, each given with its step; None where that is too coarse."""
    top, bottom = (step_s / 2 / time_s for time_s, step_s in (top_s, bottom_s))
    if interval is None or not (top or bottom):
        return interval
    if max(top, bottom) >= 1:
        return None
    low, high = (1 - top) / (1 + bottom), (1 + top) / (1 - bottom)
    return Interval(interval.low * low, interval.high * high, interval.coverage)


def is_coarse(trials: pl.DataFrame) -> bool:
    """Whether a step is neither small beside the scatter nor beside the time."""
    step_s = coarse_step(trials)
    return bool(step_s and step_s > NOTICEABLE * float(np.median(trials["wall_s"])))


def in_a_row(counts: Sequence[int]) -> bool:
    """Whether trials, whose N are given in their order, were timed one N after the other."""
    lengths = [len([*own]) for _, own in groupby(counts)]
    several = sum(length > 1 for length in lengths) > 1
    return several and len(lengths) == len({*counts})
