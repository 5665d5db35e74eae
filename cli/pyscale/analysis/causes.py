"""Limits of scaling: wall time and efficiency of each configuration without each cause of loss."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from statistics import median

import numpy as np
import polars as pl
from pydantic import Field

from pyscale.analysis.intervals import Array, Sureness, medians, repeats_needed, sureness
from pyscale.analysis.losses import GROUP, OfCurve, curve_work
from pyscale.analysis.workers import sum_if_all
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


BEFORE_METER = ("phase_container_start_s", "phase_python_start_s")
"""Phases that are over when a task begins to count its processor time and its waiting."""
START_UP = "start-up"
HELD = {
    START_UP: (*BEFORE_METER, "phase_import_s", "phase_model_load_s"),
    "reading": ("phase_read_s",),
    "writing": ("phase_write_s",),
    "unattributed": ("unattributed_s",),
}
"""Causes that are phases, the merge's too, and the columns of these."""

BY_PHASE = (
    *("imbalance", START_UP, "reading", "writing", "merging", "contention"),
    *("work-inflation", "unattributed"),
)
"""Causes that can be taken out where the phases of every worker are known."""
BY_TASK = ("imbalance", "busy")
"""Causes that can be taken out where only whole tasks were timed."""
TAKEN_OUT_WHOLE = ("imbalance", "merging")
"""Causes that are taken out at N and at N0; the others are held to what the baseline needed."""
GROWTH = ("work-inflation", "busy")
"""Causes by which the work itself has grown; taking them out scales it to the baseline's."""


def without(cause: str) -> str:
    """Name of the column with the wall times of trials without a cause."""
    return f"without_{cause.replace('-', '_')}_s"


def what_if(trials: pl.DataFrame, workers: pl.DataFrame | None) -> pl.DataFrame:
    """Take each cause out of every timed trial, or its growth over the baseline.

    The wall time without a cause is the longest that any worker would have taken, plus the merge.
    Every phase is without its part of the wait for a core, which is spread evenly over all that was
    metered; `u_i` is what remains of worker i's phase `compute`.

    - imbalance: every `u_i` is the mean over workers; who waited, read or started longer than
      others is that cause's.
    - start-up, reading, writing, unattributed: in sum over all tasks, the merge too, these phases
      take no longer than in the baseline or, where the work differs, than `growth` times that.
      Every worker's part shrinks alike.
    - merging: there is no merge.
    - contention: the same with the wait for a core. It is summed over threads, of which `k = (cpu +
      wait) / wall` were ready at once on average, so that it held a worker up for `wait / max(1,
      k)`.
    - work-inflation: every `u_i` is scaled so that their sum is `growth` times that of the
      baseline.
    - busy: the same with whole tasks, where `workers`, the table of workers, is not known.

    Added to the timed trials are `baseline_workers` and `growth`, the wall times `without_*_s`,
    null where the cause was not measured, and what resampling needs: `computed_s`, the sum of
    `u_i`; `inflation`, their growth for the same work; `slope_s`, by how much the wall time without
    inflation changes for a change of 1 in what the work is scaled by; and `cpu_s`.
    """
    timed = pl.concat(
        [_beside_base(curve) for _, curve in trials.group_by(GROUP, maintain_order=True)]
    )
    parts = None if workers is None else _parts(workers)
    if parts is None:
        # Without phases all that tasks did counts as computing, but for the merge.
        timed = timed.with_columns(computed_s=pl.col("busy_s") - pl.col("merge_s").fill_null(0.0))
    else:
        sums = parts.group_by("trial").agg(
            computed_s=pl.col("u").sum(), cpu_s=sum_if_all(pl.col("cpu_s"))
        )
        timed = timed.join(sums, on="trial", how="left", maintain_order="left")
    at_base = pl.col("workers") == pl.col("baseline_workers")
    base_s = pl.col("computed_s").filter(at_base).median().over(GROUP)
    inflation = pl.col("computed_s").median().over(*GROUP, "workers") / base_s / pl.col("growth")
    # Where nothing was computed, at N or at N0, there is no growth to divide by.
    timed = timed.with_columns(
        inflation=pl.when(inflation.is_finite() & (inflation > 0)).then(inflation)
    )
    return _by_task(timed) if parts is None else _by_phase(timed, parts)


def _beside_base(curve: pl.DataFrame) -> pl.DataFrame:
    timed = curve.filter("valid")
    work = curve_work(timed)
    growths = {workers: work.growth(workers) for workers in timed["workers"].unique()}
    return timed.with_columns(
        baseline_workers=pl.col("workers").min(),
        growth=pl.Series([growths[n] for n in timed["workers"]], dtype=pl.Float64),
    )


def _parts(workers: pl.DataFrame) -> pl.DataFrame:
    """Split the time of each worker: what it computed, what held it up, and the rest."""
    wait_s = pl.col("cpu_wait_s")
    metered_s = pl.col("wall_s") - pl.sum_horizontal(BEFORE_METER)
    # The kernel adds up the wait of all threads: of k ready at once, a k-th held the worker up.
    ready_at_once = (pl.col("cpu_s") + wait_s) / metered_s
    return (
        workers.with_columns(wait=wait_s / pl.max_horizontal(1.0, ready_at_once))
        # Of a wait that is not known, nothing is taken out of the phases.
        .with_columns(on_core=1 - (pl.col("wait") / metered_s).fill_null(0.0))
        .with_columns(u=_on_core("phase_compute_s"))
        .with_columns(rest=pl.col("wall_s") - pl.col("u"))
    )


def _on_core(*columns: str) -> pl.Expr:
    """Time in some phases without their part of the wait for a core."""
    on_core = pl.col("on_core")
    return pl.sum_horizontal(
        pl.col(column) * (1.0 if column in BEFORE_METER else on_core) for column in columns
    )


def _by_phase(timed: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    wall, rest, u = pl.col("wall_s"), pl.col("rest"), pl.col("u")
    grown = _with_growth(timed, parts)
    scaled = rest + u / pl.col("inflation")
    no_wait = wall - pl.col("wait") * _grown("contention")
    slowest = {
        "imbalance": rest.max() + u.sum() / pl.col("workers").first(),
        "merging": wall.max(),
        "contention": pl.when(pl.col("wait").is_not_null().all()).then(no_wait.max()),
        "work-inflation": scaled.max(),
        **{
            cause: (wall - _on_core(*columns) * _grown(cause)).max()
            for cause, columns in HELD.items()
        },
    }
    found = (
        # Parts of trials that do not count find no trial here, and drop out.
        parts.join(grown.select("trial", "inflation", "^_grown_.*$"), on="trial")
        .group_by("trial")
        .agg(
            # The longest time changes as that of its worker does.
            slope_s=u.get(scaled.arg_max()),
            **{without(cause): time_s for cause, time_s in slowest.items()},
        )
    )
    # Without merging there is no merge to add.
    merge_s = {cause: pl.col("merge_s") for cause in BY_PHASE if cause != "merging"}
    for cause in HELD:
        merge_s[cause] -= pl.col(f"_merge_{cause}") * _grown(cause)
    return (
        grown.join(found, on="trial", how="left", maintain_order="left")
        .with_columns(pl.col(without(cause)) + left_s for cause, left_s in merge_s.items())
        .select(*timed.columns, "slope_s", *map(without, BY_PHASE))
    )


def _grown(cause: str) -> pl.Expr:
    """Share of the time of a cause that the baseline, for the same work, did not need."""
    return pl.col(f"_grown_{cause}")


def _with_growth(timed: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Add by how much the worker-seconds of each cause grew, and what of it is the merge's."""
    whole = {cause: pl.sum_horizontal(columns) for cause, columns in HELD.items()}
    own = parts.group_by("trial").agg(
        _sum_contention=sum_if_all(pl.col("wait")),
        **{f"_sum_{cause}": _on_core(*columns).sum() for cause, columns in HELD.items()},
        **{f"_workers_{cause}": phases_s.sum() for cause, phases_s in whole.items()},
    )
    table = timed.join(own, on="trial", how="left", maintain_order="left").with_columns(
        # What a trial has of a phase beyond its workers is its merge's.
        **{
            f"_merge_{cause}": phases_s - pl.col(f"_workers_{cause}")
            for cause, phases_s in whole.items()
        }
    )
    at_base = pl.col("workers") == pl.col("baseline_workers")
    shares = {}
    for cause in (*HELD, "contention"):
        total = pl.col(f"_sum_{cause}")
        if cause in HELD:
            total += pl.col(f"_merge_{cause}")
        base = pl.col("growth") * total.filter(at_base).median().over(GROUP)
        # What did not grow costs nothing, though noise may make it shorter than the baseline's.
        shares[f"_grown_{cause}"] = (
            pl.when(at_base | (total <= base)).then(0.0).otherwise(1 - base / total)
        )
    return table.with_columns(**shares)


def _by_task(timed: pl.DataFrame) -> pl.DataFrame:
    merge_s = pl.col("merge_s").fill_null(0.0)
    return timed.with_columns(
        cpu_s=pl.lit(None, dtype=pl.Float64),
        slope_s="slowest_s",
        **{
            without("imbalance"): pl.col("computed_s") / pl.col("workers") + merge_s,
            without("busy"): pl.col("slowest_s") / pl.col("inflation") + merge_s,
        },
    )
