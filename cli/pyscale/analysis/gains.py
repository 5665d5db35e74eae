"""Efficiencies by what-if wall times, and how often each is the highest among resamples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.intervals import medians
from pyscale.analysis.whatif import GROWTH, without

if TYPE_CHECKING:
    import polars as pl

    from pyscale.analysis.intervals import Array

RESAMPLES = 999
"""Enough for a share of 0.95 to have a standard error of 0.007."""


def efficiencies(own: pl.DataFrame, base: pl.DataFrame, columns: Sequence[str]) -> list[float]:
    """Efficiency of a configuration by each of some wall times.

    `growth * N0 * T(N0) / (N * T(N))`, T the median over trials; not finite where T(N) is 0.

    Parameters
    ----------
    own, base : polars.DataFrame
        Trials at N and at N0, as `what_if` gives them.
    columns : sequence of str
        Names of wall times that no trial lacks.
    """
    times_s, base_times_s = own.select(columns).to_numpy().T, base.select(columns).to_numpy().T
    return [float(found) for found in _efficiencies(own, times_s, base_times_s)]


def shares_first(own: pl.DataFrame, base: pl.DataFrame, columns: Sequence[str]) -> list[float]:
    """Share of bootstrap resamples in which each wall time gives the highest efficiency.

    Trials at N and at N0 are resampled, each by themselves.
    """
    import numpy as np

    random = np.random.default_rng(0)
    here = random.integers(own.height, size=(RESAMPLES, own.height))
    there = random.integers(base.height, size=(RESAMPLES, base.height))
    times_s = own.select(columns).to_numpy().T[:, here]
    for place, column in enumerate(columns):
        if column in {without(code) for code in GROWTH}:
            times_s[place] += _rescaled_s(own, base, here, there)
    found = _efficiencies(own, times_s, base.select(columns).to_numpy().T[:, there])
    first = np.where(np.isfinite(found), found, -np.inf).argmax(axis=0)
    return [float(share) for share in np.bincount(first, minlength=len(columns)) / RESAMPLES]


def _efficiencies(own: pl.DataFrame, times_s: Array, base_times_s: Array) -> Array:
    """Efficiencies from times whose last axis is that of the trials."""
    import numpy as np

    scale = own["growth"][0] * own["baseline_workers"][0] / own["workers"][0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(scale * medians(base_times_s) / medians(times_s))


def _rescaled_s(own: pl.DataFrame, base: pl.DataFrame, here: Array, there: Array) -> Array:
    """Change of the wall times without growth, as each resample has its own growth.

    Exact as long as the slowest worker stays the slowest.
    """
    import numpy as np

    computed_s, base_computed_s = own["computed_s"].to_numpy(), base["computed_s"].to_numpy()
    scaled_to = own["growth"][0] * medians(base_computed_s[there])
    change = scaled_to / medians(computed_s[here]) - 1 / own["inflation"][0]
    return np.asarray(change[:, None] * own["slope_s"].to_numpy()[here])
