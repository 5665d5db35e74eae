"""Workers of a trial: their work and its place in time, and what they spent in each phase."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from heapq import heappush, heapreplace

import polars as pl

from pyscale_stages.contract import PHASES

TASK_PHASES = tuple(phase for phase in PHASES if phase not in {"queue", "unattributed"})
"""Phases that a task records as spans. Queue wait comes before a task, and what no span
covers is found by subtraction."""
PHASE_COLUMNS = tuple(f"phase_{phase}_s" for phase in TASK_PHASES)


def phase_sums(spans: pl.DataFrame, tasks: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Sum the spans of some tasks by phase."""
    # A column for each phase, then plain sums: polars does these far faster than filtered ones.
    return (
        spans.select("trial", "task", "phase", "wall_s")
        .join(tasks.select({"trial", "task", *by}), on=("trial", "task"))
        .select(
            *by,
            *(
                pl.when(pl.col("phase") == phase).then("wall_s").otherwise(0.0).alias(column)
                for phase, column in zip(TASK_PHASES, PHASE_COLUMNS, strict=True)
            ),
        )
        .group_by(by)
        .agg(pl.col(PHASE_COLUMNS).sum())
    )


def sum_if_all(values: pl.Expr) -> pl.Expr:
    """Sum up what is known of every task; a sum of some would leave others out."""
    return pl.when(values.null_count() == 0).then(values.sum())


def worker_times(timed: pl.DataFrame) -> pl.DataFrame:
    """Wall times of a trial's workers, and how these lay in time."""
    is_run = pl.col("verb") == "run"
    lanes = _lanes(timed.filter(is_run))
    return (
        timed.group_by("trial")
        .agg(
            merge_s=pl.col("wall_s").filter(~is_run).sum(),
            busy_s=pl.col("wall_s").sum(),
        )
        .join(lanes, on="trial", how="left")
        .join(_together(timed.filter(is_run)), on="trial", how="left")
        # The two ends of one task come from two clocks; a fraction above 1 would be theirs.
        .with_columns(overlap=(pl.col("together_s") / pl.col("slowest_s")).clip(0.0, 1.0))
        .drop("together_s")
    )


def worker_table(tasks: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Sum up the windows of each worker, a row per trial and lane; merges and checks are left out.

    To `wall_s` its phases and `unattributed_s` add up. `cpu_s` and `cpu_wait_s`, in which its
    threads were ready and had no core, are summed over threads; null where any window's is not
    known.
    """
    windows = tasks.filter(
        pl.col("attempt") == pl.col("attempt").max().over("trial", "task"),
        pl.col("verb") == "run",
        pl.col("lane").is_not_null(),
    )
    one = ("trial", "lane")
    return (
        windows.group_by(one, maintain_order=True)
        .agg(
            pl.col("workers").first(),
            pl.col("wall_s").sum(),
            cpu_s=sum_if_all(pl.col("cpu_s")),
            cpu_wait_s=sum_if_all(pl.col("cpu_wait_s")),
        )
        .join(phase_sums(spans, windows, one), on=one, how="left", maintain_order="left")
        .with_columns(pl.col(PHASE_COLUMNS).fill_null(0.0))
        .with_columns(unattributed_s=pl.col("wall_s") - pl.sum_horizontal(PHASE_COLUMNS))
    )


CLOCK_TOLERANCE_S = 1.0
"""By how much clocks of nodes may differ: those that anything keeps right differ by less."""


def clocks_disagree() -> pl.Expr:
    """Whether the tasks of a trial tell times in an order that cannot have been.

    None begins before its order was given, and no merge's order is given before the windows end.
    """
    tolerance = pl.duration(milliseconds=round(1000 * CLOCK_TOLERANCE_S))
    begins_early = pl.col("begin_utc") + tolerance < pl.col("submit_utc")
    merged = pl.col("submit_utc").filter(pl.col("verb") == "merge").min()
    ends_late = pl.col("end_utc").filter(pl.col("verb") == "run").max() - tolerance > merged
    return begins_early.any() | ends_late.fill_null(value=False)


def _lanes(windows: pl.DataFrame) -> pl.DataFrame:
    """Sum up each lane, and then the lanes of each trial."""
    start, end = pl.col("start_utc"), pl.col("end_utc")
    lanes = (
        windows.sort("start_utc", "task", maintain_order=True)
        .group_by("trial", "lane", maintain_order=True)
        .agg(
            lane_s=pl.col("wall_s").sum(),
            start=start.min(),
            # Later windows of a worker wait for its earlier ones, not for the cluster.
            queue_s=pl.col("queue_s").first(),
            gap_s=seconds(start - end.cum_max().shift()).clip(0.0).sum(),
        )
    )
    return lanes.group_by("trial").agg(
        slowest_s=pl.col("lane_s").max(),
        shortest_s=pl.col("lane_s").min(),
        gap_s=pl.col("gap_s").sum(),
        queue_s=pl.col("queue_s").median(),
        queue_worst_s=pl.col("queue_s").max(),
        start_stagger_s=seconds(pl.col("start").max() - pl.col("start").min()),
    )


def _together(windows: pl.DataFrame) -> pl.DataFrame:
    """Time in which as many tasks of a trial ran at once as it had processes for them."""
    events = pl.concat(
        windows.select(
            "trial",
            at=at,
            step=pl.lit(step),
            # One process may have all workers as its threads.
            at_once=pl.min_horizontal("workers", "windows"),
        )
        for at, step in (("start_utc", 1), ("end_utc", -1))
    )
    running = (
        events.group_by("trial", "at_once", "at")
        .agg(pl.col("step").sum())
        .sort("trial", "at")
        .with_columns(
            running=pl.col("step").cum_sum().over("trial"),
            lasting_s=seconds(pl.col("at").shift(-1) - pl.col("at")).over("trial"),
        )
    )
    return running.group_by("trial").agg(
        together_s=pl.col("lasting_s").filter(pl.col("running") >= pl.col("at_once")).sum()
    )


def seconds(duration: pl.Expr) -> pl.Expr:
    """Length of a duration."""
    return duration.dt.total_microseconds() / 1e6


Interval = tuple[datetime, datetime]
"""Start and end of a task."""


def with_lanes(tasks: pl.DataFrame) -> pl.DataFrame:
    """Fill in the lanes of trials in which the scheduler decided who does what."""
    places = tasks.with_row_index("place").filter(pl.col("verb") == "run")
    open_trials = places.filter(
        pl.col("lane").is_null().any().over("trial"),
        pl.col("start_utc").is_not_null() & pl.col("end_utc").is_not_null(),
    )
    lanes = tasks["lane"].to_list()
    for _, own in open_trials.group_by("trial", maintain_order=True):
        intervals = list(zip(own["start_utc"], own["end_utc"], strict=True))
        derived = lanes_of(intervals, int(own["workers"][0]))
        for place, lane in zip(own["place"], derived, strict=True):
            lanes[place] = lane
    known = tasks.with_columns(lane=pl.Series(lanes, dtype=pl.Int64))
    return known.with_columns(lane=pl.when(pl.col("verb") == "run").then("lane"))


def lanes_of(intervals: Sequence[Interval], workers: int) -> list[int]:
    """Deal tasks to lanes by when they ran; lanes are numbered from 0.

    In the order of their starts each task goes to the lane whose last task ended first. Where at
    most N tasks ran at once this needs no more than N lanes, none of which does two tasks at a
    time. Where more seem to have run at once, because clocks are off, there are N lanes all the
    same. N tasks or fewer have a lane each.
    """
    lanes = [0] * len(intervals)
    free_at: list[tuple[datetime, int]] = []
    for task in sorted(range(len(intervals)), key=intervals.__getitem__):
        _, end = intervals[task]
        # The first N tasks have a lane each, even where one of them had ended before.
        if len(free_at) < workers:
            lanes[task] = len(free_at)
            heappush(free_at, (end, lanes[task]))
            continue
        free_first, lanes[task] = free_at[0]
        # Clocks that are off may have a later task end before an earlier one.
        heapreplace(free_at, (max(free_first, end), lanes[task]))
    return lanes


def most_at_once(intervals: Sequence[Interval]) -> int:
    """Largest number of tasks that ran at the same moment; one that ends makes room first."""
    # At one moment the ends come first, as -1 is below 1.
    steps = sorted([(start, 1) for start, _ in intervals] + [(end, -1) for _, end in intervals])
    running = most = 0
    for _, step in steps:
        running += step
        most = max(most, running)
    return most
