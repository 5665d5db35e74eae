"""One row per trial from the rows of its tasks: how long it took and what its workers did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale_stages.contract import PHASES

if TYPE_CHECKING:
    import polars as pl

TASK_PHASES = tuple(phase for phase in PHASES if phase not in {"queue", "unattributed"})
"""Phases that a task records as spans. Queue wait comes before a task, and what no span
covers is found by subtraction."""

TIMING_COLUMNS = (
    "slowest_s",
    "shortest_s",
    "merge_s",
    "wall_s",
    "busy_s",
    "mean_busy_s",
    "idle_s",
    "useful_s",
    *(f"phase_{phase}_s" for phase in TASK_PHASES),
    "unattributed_s",
    "overlap",
    "start_stagger_s",
    "queue_s",
)
"""Columns that are null in a trial that did not finish: there is no such time."""


def trial_table(tasks: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Summarise every trial by its tasks.

    The wall time of a trial is `max(t_i) + merge`: the merge starts when the last worker has
    ended, so it is booked on the slowest worker, and every other worker idles meanwhile. With
    this one convention the identities of the POP metrics hold with the merge inside T.

    Parameters
    ----------
    tasks : polars.DataFrame
        One row per finished task, of the verbs run, merge and check.
    spans : polars.DataFrame
        One row per span of these tasks: `trial`, `task`, `phase`, `wall_s`.

    Returns
    -------
    polars.DataFrame
        One row per trial, in the order of `tasks`:

        suite, stage, device, workers, trial, block, position
            Which trial; `position` is its place in the order of execution.
        attempt, failed, complete, valid
            `valid` trials are timed: every task of the plan is there and done at the first
            attempt. A trial that was retried is complete and yet not timed.
        slowest_s, shortest_s : float
            Longest and shortest wall time of a worker, without the merge.
        merge_s, wall_s : float
            Wall time of the merge (0 with one worker) and of the trial, T.
        busy_s, mean_busy_s, idle_s : float
            Worker-seconds in tasks, their mean over workers, and the rest of `workers * T`.
        useful_s, phase_*_s, unattributed_s : float
            Worker-seconds by phase, the merge task's phases included; `useful_s` is the
            phase `compute`. All phases and `unattributed_s` sum to `busy_s`.
        overlap : float
            Fraction of the slowest worker's time in which all workers ran.
        start_stagger_s, queue_s : float
            From the first worker's start to the last one's; median wait before a start.
        cache_state, oversubscribed, disturbed, hardware, agreement, agreement_same,
        agreement_identical, check_failed, quality
            As recorded; `hardware` lists the distinct labels.
    """
    import polars as pl

    # A task that was tried again may have left a record of each attempt: the last one counts.
    latest = tasks.filter(pl.col("attempt") == pl.col("attempt").max().over("trial", "task"))
    timed = latest.filter(pl.col("verb") != "check").sort("trial", "task")
    table = (
        _headers(latest)
        .join(_times(timed), on="trial", how="left", maintain_order="left")
        .join(_phase_sums(timed, spans), on="trial", how="left", maintain_order="left")
        .join(_checks(latest), on="trial", how="left", maintain_order="left")
    )
    wall_s = pl.col("slowest_s") + pl.col("merge_s")
    phases = pl.sum_horizontal(f"phase_{phase}_s" for phase in TASK_PHASES)
    table = table.with_columns(
        wall_s=wall_s,
        mean_busy_s=pl.col("busy_s") / pl.col("workers"),
        idle_s=pl.col("workers") * wall_s - pl.col("busy_s"),
        useful_s=pl.col("phase_compute_s"),
        unattributed_s=pl.col("busy_s") - phases,
        complete=~pl.col("failed") & pl.col("_has_all_tasks"),
    ).with_columns(valid=pl.col("complete") & (pl.col("attempt") == 1))
    return table.with_columns(
        pl.when("complete").then(column).alias(column) for column in TIMING_COLUMNS
    ).drop("_has_all_tasks")


def _headers(tasks: pl.DataFrame) -> pl.DataFrame:
    """What a trial is and whether all its tasks are there, in the order of the input."""
    import polars as pl

    timed = pl.col("verb") != "check"
    runs = (pl.col("verb") == "run").sum()
    merges = (pl.col("verb") == "merge").sum()
    one = ("suite", "stage", "device", "workers", "block", "cache_state")
    return tasks.group_by("trial", maintain_order=True).agg(
        *(pl.col(column).first() for column in one),
        pl.col("position").min(),
        pl.col("attempt").filter(timed).max().fill_null(1),
        failed=(timed & (pl.col("status") != "done")).any(),
        oversubscribed=pl.col("oversubscribed").any(),
        disturbed=pl.col("disturbed").any(),
        hardware=pl.col("hardware").filter(timed).unique().sort(),
        # One worker has nothing to join.
        _has_all_tasks=(runs == pl.col("workers").first())
        & (merges == (pl.col("workers").first() > 1).cast(pl.UInt32)),
    )


def _times(timed: pl.DataFrame) -> pl.DataFrame:
    """Wall times of a trial's tasks, and how its workers lay in time."""
    import polars as pl

    run = pl.col("verb") == "run"
    start = pl.col("start_utc").filter(run)
    end = pl.col("end_utc").filter(run)
    slowest_s = pl.col("wall_s").filter(run).max()
    together_s = (end.min() - start.max()).dt.total_microseconds() / 1e6
    return timed.group_by("trial").agg(
        slowest_s=slowest_s,
        shortest_s=pl.col("wall_s").filter(run).min(),
        merge_s=pl.col("wall_s").filter(~run).sum(),
        busy_s=pl.col("wall_s").sum(),
        queue_s=pl.col("queue_s").filter(run).median(),
        start_stagger_s=(start.max() - start.min()).dt.total_microseconds() / 1e6,
        # The two ends of one task come from two clocks; a fraction above 1 would be theirs.
        overlap=(together_s / slowest_s).clip(0.0, 1.0),
    )


def _phase_sums(timed: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Worker-seconds of each phase; 0 where a trial has no such span."""
    import polars as pl

    own = spans.select("trial", "task", "phase", span_s="wall_s").join(
        timed.select("trial", "task"), on=("trial", "task"), how="right"
    )
    return own.group_by("trial").agg(
        pl.col("span_s").filter(pl.col("phase") == phase).sum().alias(f"phase_{phase}_s")
        for phase in TASK_PHASES
    )


def _checks(tasks: pl.DataFrame) -> pl.DataFrame:
    """What the comparison with the baseline's output and with the truth found."""
    import polars as pl

    return (
        tasks.filter(pl.col("verb") == "check")
        .group_by("trial")
        .agg(
            pl.col("agreement").first(),
            pl.col("agreement_same").first(),
            pl.col("agreement_identical").first(),
            pl.col("quality").first(),
            check_failed=(pl.col("status") != "done").any(),
        )
    )
