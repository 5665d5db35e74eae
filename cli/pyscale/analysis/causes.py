"""Limits of scaling: the efficiency of each configuration without each cause of loss."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from statistics import median

import numpy as np
import polars as pl
from pydantic import Field

from pyscale.analysis.intervals import Array, Sureness, medians, repeats_needed, sureness
from pyscale.analysis.losses import GROUP, OfCurve
from pyscale.analysis.whatif import BY_PHASE, BY_TASK, GROWTH, what_if, without
from pyscale_stages.contract import Record

LEAST_GAIN = 0.05
"""Relative gain of efficiency below which no cause is the main one: as between two runs, 5 % does
not matter."""
IDLE_GPU = 0.15
"""Mean use below which jobstats reports a GPU as idle."""


class Cause(Record):
    """One cause of loss, and what would be without it or without its growth."""

    code: str = Field(description="Name of the cause, the same in every release")
    efficiency: float = Field(description="Efficiency without it")
    gain: float = Field(description="How much higher than the measured efficiency that is")
    seconds: float = Field(description="How much shorter the wall time at N is without it")
    share_first: float | None = Field(
        description="Share of bootstrap resamples of trials in which its gain is the largest; "
        "None with too few trials"
    )


class Limits(OfCurve):
    """Limits of one configuration beyond the baseline."""

    workers: int = Field(description="N")
    baseline_workers: int = Field(description="N0")
    trials: int = Field(description="Timed trials at N or at N0, the fewer")
    efficiency: float = Field(description="As measured")
    causes: tuple[Cause, ...] = Field(description="By falling gain")
    not_measured: tuple[str, ...] = Field(description="Causes that nothing is known of")
    inflation: float | None = Field(
        description="Worker-seconds of computing, waits for a core taken out, over those of the "
        "baseline, for the same work; of whole tasks where no phases are known"
    )
    cpu_growth: float | None = Field(
        description="Processor time over that of the baseline, for the same work"
    )
    gpu_use: float | None = Field(
        description="Mean use of the GPU, where it is so low that the GPU is idle"
    )

    @property
    def main(self) -> Cause | None:
        """The cause that costs most; None where no single one costs enough to speak of."""
        enough = (1 + LEAST_GAIN) * self.efficiency
        return next((first for first in self.causes[:1] if first.efficiency >= enough), None)

    @property
    def sureness(self) -> Sureness | None:
        """Confidence that the main cause is the first; None where there is none."""
        return None if self.main is None else sureness(self.main.share_first)


def limits(trials: pl.DataFrame, workers: pl.DataFrame | None = None) -> list[Limits]:
    """Find out what limits every configuration beyond its baseline.

    Each cause is held to the worker-seconds that it cost at N0 for the same work (imbalance and
    merging are taken out at both), all else as measured, and gives an efficiency `growth * N0 *
    T(N0) / (N * T(N))`, from medians over trials. The one with the highest is the main cause. What
    did not grow has no gain, however much time it takes.

    The confidence comes from resampling the trials of N and of N0, each by themselves. Without
    `workers`, the table of workers, the causes are those of whole tasks.
    """
    if not trials["valid"].any():
        return []
    all_causes = BY_TASK if workers is None else BY_PHASE
    found = []
    for _, curve in what_if(trials, workers).group_by(GROUP, maintain_order=True):
        at_base = pl.col("workers") == pl.col("baseline_workers")
        base, others = curve.filter(at_base), curve.filter(~at_base).sort("workers")
        for _, own in others.group_by("workers", maintain_order=True):
            found.append(_limits(own, base, all_causes))
    return found


def _limits(own: pl.DataFrame, base: pl.DataFrame, all_causes: tuple[str, ...]) -> Limits:
    codes = [
        code
        for code in all_causes
        if not own[without(code)].null_count() and not base[without(code)].null_count()
    ]
    columns = [without(code) for code in codes]
    efficiency, *possible = efficiencies(own, base, ["wall_s", *columns])
    trials = min(own.height, base.height)
    shares: Sequence[float | None] = [None] * len(codes)
    if codes and trials >= repeats_needed():
        shares = shares_first(own, base, columns)
    causes = [
        Cause(
            code=code,
            efficiency=best,
            gain=best - efficiency,
            seconds=median(own["wall_s"] - own[without(code)]),
            share_first=share,
        )
        for code, best, share in zip(codes, possible, shares, strict=True)
        # A cause that was all of T(N) leaves no time to have an efficiency.
        if isfinite(best)
    ]
    cpu_s, base_cpu_s = _median(own["cpu_s"]), _median(base["cpu_s"])
    used = _median(own["gpu_mean_utilisation"])
    return Limits(
        **{key: own[key][0] for key in GROUP},
        workers=own["workers"][0],
        baseline_workers=base["workers"][0],
        trials=trials,
        efficiency=efficiency,
        causes=tuple(sorted(causes, key=lambda cause: -cause.gain)),
        not_measured=tuple(code for code in BY_PHASE if code not in codes),
        # The same in every trial of one N.
        inflation=own["inflation"][0],
        cpu_growth=cpu_s / base_cpu_s / float(own["growth"][0]) if cpu_s and base_cpu_s else None,
        gpu_use=used if used is not None and used < IDLE_GPU else None,
    )


def _median(values: pl.Series) -> float | None:
    """Median over trials; None where one of them does not know."""
    return None if values.null_count() else median(values)


RESAMPLES = 999
"""Enough for a share of 0.95 to have a standard error of 0.007."""


def efficiencies(own: pl.DataFrame, base: pl.DataFrame, columns: Sequence[str]) -> list[float]:
    """Efficiency by each of some wall times, of medians over trials; not finite where T(N) is 0."""
    times_s, base_times_s = own.select(columns).to_numpy().T, base.select(columns).to_numpy().T
    return [float(found) for found in _efficiencies(own, times_s, base_times_s)]


def shares_first(own: pl.DataFrame, base: pl.DataFrame, columns: Sequence[str]) -> list[float]:
    """Share of bootstrap resamples in which each wall time gives the highest efficiency."""
    # Seeded, so that the same trials have the same main cause in every report.
    random = np.random.default_rng(0)
    # Each arm by itself: what both share in a block changes all efficiencies alike, and no order.
    here = random.integers(own.height, size=(RESAMPLES, own.height))
    there = random.integers(base.height, size=(RESAMPLES, base.height))
    times_s = own.select(columns).to_numpy().T[:, here]
    for place, column in enumerate(columns):
        if column in {without(code) for code in GROWTH}:
            times_s[place] += _rescaled_s(own, base, here, there)
    found = _efficiencies(own, times_s, base.select(columns).to_numpy().T[:, there])
    # What is no number must not come first, as it would by `argmax`.
    first = np.where(np.isfinite(found), found, -np.inf).argmax(axis=0)
    return [float(share) for share in np.bincount(first, minlength=len(columns)) / RESAMPLES]


def _efficiencies(own: pl.DataFrame, times_s: Array, base_times_s: Array) -> Array:
    """Efficiencies from times whose last axis is that of the trials."""
    scale = own["growth"][0] * own["baseline_workers"][0] / own["workers"][0]
    # Times of 0 s give what is not finite, which callers leave out.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(scale * medians(base_times_s) / medians(times_s))


def _rescaled_s(own: pl.DataFrame, base: pl.DataFrame, here: Array, there: Array) -> Array:
    """Change of the wall times without growth, as each resample has its own growth."""
    computed_s, base_computed_s = own["computed_s"].to_numpy(), base["computed_s"].to_numpy()
    scaled_to = own["growth"][0] * medians(base_computed_s[there])
    # The factor of each resample, less the one by which the trials themselves were scaled.
    change = scaled_to / medians(computed_s[here]) - 1 / own["inflation"][0]
    # Exact as long as the slowest worker stays the slowest.
    return np.asarray(change[:, None] * own["slope_s"].to_numpy()[here])
