"""One row per trial from the rows of its tasks: how long it took and what its workers did."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.warned import of_tasks
from pyscale.analysis.workers import (
    PHASE_COLUMNS,
    clocks_disagree,
    phase_sums,
    sum_if_all,
    worker_times,
)
from pyscale_stages.residency import LEAST_PROVED_FIRST

TIMING_COLUMNS = (
    *("slowest_s", "shortest_s", "merge_s", "wall_s", "busy_s", "idle_s", "useful_s"),
    *(*PHASE_COLUMNS, "unattributed_s", "overlap", "start_stagger_s", "gap_s"),
    *("queue_s", "queue_worst_s", "cores_used", "work", "prepare_s"),
    *("mean_task_s", "sd_task_s", "longest_task_s"),
    *("input_bytes", "input_files", "gpu_mean_utilisation"),
)
"""Columns that are null in a trial that did not finish: there is no such time or sum."""


def trial_table(tasks: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Summarise every trial by its tasks; columns as docs/columns.md has them.

    The wall time of a trial is `max(t_i) + merge`, where t_i is what worker i spent in its windows:
    the merge starts when the last worker has ended, so it is booked on the slowest worker, and
    every other worker idles meanwhile. With this one convention the identities of the POP metrics
    hold with the merge inside T. What passed between the windows of one worker is the scheduler's,
    and stands beside T as `gap_s`.

    `tasks` are those of the verbs run, merge and check, every window's with its lane. All phases
    and `unattributed_s` sum to `busy_s`, which with `idle_s` is `workers * wall_s`. What is not
    known is null, and so is a sum of which a part is not known.
    """
    # A task that was tried again may have left a record of each attempt: the last one counts.
    latest = tasks.filter(pl.col("attempt") == pl.col("attempt").max().over("trial", "task"))
    timed = latest.filter(pl.col("verb") != "check").sort("trial", "task")
    table = (
        _headers(latest)
        .join(worker_times(timed), on="trial", how="left", maintain_order="left")
        .join(phase_sums(spans, timed, ["trial"]), on="trial", how="left", maintain_order="left")
        .with_columns(pl.col(PHASE_COLUMNS).fill_null(0.0))
        .join(_checks(latest), on="trial", how="left", maintain_order="left")
        .join(of_tasks(latest), on="trial", how="left", maintain_order="left")
    )
    wall_s = pl.col("slowest_s") + pl.col("merge_s")
    # Fewer tasks than workers have them as threads: each of their seconds is one of all these.
    threads = pl.max_horizontal(pl.col("workers") / pl.col("windows"), pl.lit(1.0))
    table = (
        table.with_columns(pl.col("busy_s", *PHASE_COLUMNS) * threads)
        .with_columns(
            wall_s=wall_s,
            idle_s=pl.col("workers") * wall_s - pl.col("busy_s"),
            useful_s=pl.col("phase_compute_s"),
            unattributed_s=pl.col("busy_s") - pl.sum_horizontal(PHASE_COLUMNS),
            complete=~pl.col("failed") & pl.col("_has_all_tasks"),
        )
        .with_columns(valid=pl.col("complete") & (pl.col("attempt") == 1))
    )
    return table.with_columns(
        pl.when("complete").then(column).alias(column) for column in TIMING_COLUMNS
    ).drop("_has_all_tasks")


def _headers(tasks: pl.DataFrame) -> pl.DataFrame:
    """Key of each trial and whether all its tasks are there, in the order of the input."""
    timed, run = pl.col("verb") != "check", pl.col("verb") == "run"
    wall_s, used = pl.col("wall_s"), pl.col("gpu_mean_utilisation")
    whole_s = (pl.col("prepare_s") + wall_s).filter(timed)
    merges = (pl.col("verb") == "merge").sum()
    memory, node = pl.col("requested_memory_bytes"), pl.col("node").filter(run)
    asked = memory.filter(run).max()
    one = ("suite", "stage", "device", "workers", "windows", "block")
    return tasks.group_by("trial", maintain_order=True).agg(
        *(pl.col(column).first() for column in one),
        pl.col("position").min(),
        pl.col("attempt").filter(timed).max().fill_null(1),
        cache_asked=pl.col("cache_asked").filter(run).drop_nulls().first(),
        cache_state=least_proved(pl.col("cache_state").filter(run)),
        failed=(timed & (pl.col("status") != "done")).any(),
        oversubscribed=pl.col("oversubscribed").any(),
        disturbed=pl.col("disturbed").any(),
        hardware=pl.col("hardware").filter(timed).unique().sort(),
        nodes=pl.when(node.is_not_null().any()).then(node.drop_nulls().n_unique().cast(pl.Int64)),
        clocks_disagree=clocks_disagree(),
        # What tasks that asked for other memory used says nothing of the windows' request.
        peak_rss_bytes=pl.col("peak_rss_bytes").filter(memory.eq_missing(asked)).max(),
        requested_memory_bytes=asked,
        cores_used=pl.col("cpu_s").filter(run).sum() / wall_s.filter(run).sum(),
        requested_cpus=pl.col("requested_cpus").filter(run).max(),
        requested_gpus=pl.col("requested_gpus").filter(run).max(),
        work=sum_if_all(pl.col("frames").filter(run)).cast(pl.Float64),
        prepare_s=sum_if_all(pl.col("prepare_s").filter(run)),
        mean_task_s=wall_s.filter(run).mean(),
        sd_task_s=wall_s.filter(run).std(),
        longest_task_s=pl.when(whole_s.null_count() == 0).then(whole_s.max()),
        input_bytes=sum_if_all(pl.col("input_bytes").filter(run)),
        input_files=sum_if_all(pl.col("input_files").filter(run)),
        gpu_mean_utilisation=sum_if_all((used * wall_s).filter(run)) / wall_s.filter(run).sum(),
        # A clock was read, and blocks are in random order: tables alone have these doubts.
        rounded_to_s=pl.lit(None, dtype=pl.Float64),
        in_a_row=pl.lit(value=False),
        _has_all_tasks=(run.sum() == pl.col("windows").first())
        & (merges == pl.col("joins").first().cast(pl.UInt32)),
    )


def least_proved(states: pl.Expr) -> pl.Expr:
    """State of a trial from those of its windows; where some are not known nothing is proved."""
    known = states.cast(pl.Enum(LEAST_PROVED_FIRST))
    unknown = known.null_count()
    return (
        pl.when((unknown > 0) & (unknown < known.len()))
        .then(pl.lit("unsupported"))
        .otherwise(known.min().cast(pl.String))
    )


def _checks(tasks: pl.DataFrame) -> pl.DataFrame:
    return tasks.filter(pl.col("task") == "check").select(
        *("trial", "agreement", "agreement_same", "agreement_identical"),
        *("agreement_measure", "agreement_tolerance", "quality"),
        check_failed=pl.col("status") != "done",
    )
