"""Tasks of one worker one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from heapq import heappush, heapreplace

import polars as pl

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
