"""Wall times of trials as they would be without one cause of loss, all else as measured."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.losses import GROUP, curve_work
from pyscale.analysis.workers import sum_if_all

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
