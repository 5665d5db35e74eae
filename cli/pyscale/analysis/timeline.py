"""Timeline of the workers of a trial, with the task that each waited for."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.losses import middle_trials

FINEST = 1 / 200
"""Share of a trial's length below which pieces of a task are gathered: a task that reads and
computes frame by frame has thousands, and a figure cannot show them."""
ONE = ("trial", "task")
TRIAL = ("stage", "device", "suite", "trial", "workers", "block")
PIECE = ("task", "verb", "lane", "node", "part", "start_s", "wall_s")
NOTHING_S = 1e-6
"""Resolution of the recorded times: what is shorter lies between two readings of a clock."""


def timeline_of(tasks: pl.DataFrame, spans: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Lay out the middle trial of each configuration in time."""
    groups = trials.filter("valid").group_by("suite", "stage", "device", "workers")
    middle = [middle_trials(own)["trial"][0] for _, own in groups]
    return timeline_table(tasks.filter(pl.col("trial").is_in(middle)), spans)


def timeline_table(tasks: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Say of every worker what it did when, and for which task it waited.

    Pieces of a task that are shorter than `FINEST` of the trial are gathered by part, so that each
    part keeps its sum and stands no further than that from where it was. A merge stands on the lane
    of the worker that ended last, on which its time is booked; a worker that has ended is idle
    until the last one has, and again during the merge. The scheduler's time before and between
    tasks stays empty. Where a worker was idle, `task` is the one that it waited for and `verb` is
    null.
    """
    timed = _timed(tasks)
    pieces = _gathered(_pieces(timed, spans), timed)
    header = timed.select(TRIAL).unique("trial", maintain_order=True).with_row_index("place")
    return (
        pl.concat([pieces, _idle(timed)], how="vertical_relaxed")
        .join(header, on="trial")
        .sort("place", "lane", "start_s", maintain_order=True)
        .select(*TRIAL, *PIECE)
    )


def _timed(tasks: pl.DataFrame) -> pl.DataFrame:
    """Windows' tasks and merges of the last attempt, in seconds since their trial's first start."""
    is_run = pl.col("verb") == "run"
    start_s = (pl.col("start_utc") - pl.col("start_utc").filter(is_run).min().over("trial")) / (
        pl.duration(seconds=1)
    )
    found = tasks.filter(
        pl.col("attempt") == pl.col("attempt").max().over(ONE),
        pl.col("verb") != "check",
        pl.col("start_utc").is_not_null() & pl.col("wall_s").is_not_null(),
        # A window of an unknown lane has no place here; a merge gets one below.
        pl.col("lane").is_not_null() | ~is_run,
    ).with_columns(start_s=start_s)
    end_s = pl.col("start_s") + pl.col("wall_s")
    last = (
        found.with_columns(end_s=end_s)
        .filter(is_run)
        .sort("end_s", "lane")
        .group_by("trial")
        .agg(
            last_task=pl.col("task").last(),
            last_s=pl.col("end_s").last(),
            last_lane=pl.col("lane").last(),
        )
    )
    return found.join(last, on="trial", maintain_order="left").with_columns(
        lane=pl.coalesce("lane", "last_lane")
    )


def _pieces(timed: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Cut every task without a hole into its spans and what lies between them."""
    own = timed.select(*ONE, "start_utc", task_start_s="start_s", task_wall_s="wall_s")
    end_s = pl.col("start_s") + pl.col("wall_s")
    phases = (
        spans.select(*ONE, "wall_s", part="phase", at="start_utc")
        .join(own, on=ONE)
        .with_columns(
            start_s=pl.col("task_start_s")
            + (pl.col("at") - pl.col("start_utc")) / pl.duration(seconds=1)
        )
        .sort("start_s", maintain_order=True)
        # A hole begins where all earlier spans have ended, and not only the one before.
        .with_columns(before_s=end_s.cum_max().shift().over(ONE).fill_null(pl.col("task_start_s")))
    )
    ends = phases.group_by(ONE).agg(before_s=end_s.max())
    columns = (*ONE, "part", "start_s", "wall_s")
    between = phases.select(*ONE, "before_s", wall_s=pl.col("start_s") - pl.col("before_s"))
    after = own.join(ends, on=ONE, how="left").select(
        *ONE,
        before_s=pl.coalesce("before_s", "task_start_s"),
        wall_s=pl.col("task_start_s")
        + pl.col("task_wall_s")
        - pl.coalesce("before_s", "task_start_s"),
    )
    unattributed = pl.concat([between, after]).select(
        *ONE, "wall_s", part=pl.lit("unattributed"), start_s="before_s"
    )
    return pl.concat([phases.select(columns), unattributed.select(columns)]).filter(
        pl.col("wall_s") > NOTHING_S
    )


def _gathered(pieces: pl.DataFrame, timed: pl.DataFrame) -> pl.DataFrame:
    """Put short pieces of one part of a task together, and those that follow each other."""
    lengths = timed.group_by("trial").agg(
        bin_s=FINEST * (pl.col("start_s") + pl.col("wall_s")).max()
    )
    binned = (
        pieces.join(lengths, on="trial")
        .with_columns(bin=(pl.col("start_s") / pl.col("bin_s")).floor())
        .group_by(*ONE, "bin", "part")
        .agg(pl.col("wall_s").sum(), pl.col("start_s").min())
        # Only the longest can reach beyond its bin: it stands last, and moves none by more.
        .sort(*ONE, "bin", "wall_s")
    )
    laid = binned.with_columns(
        start_s=pl.col("start_s").min().over(*ONE, "bin")
        + pl.col("wall_s").cum_sum().over(*ONE, "bin")
        - pl.col("wall_s")
    )
    # A part that goes on from bin to bin is one piece again.
    changed = (pl.col("part") != pl.col("part").shift()).fill_null(value=True)
    joined = (
        laid.with_columns(stretch=changed.cum_sum().over(ONE))
        .group_by(*ONE, "stretch", "part")
        .agg(pl.col("start_s").min(), pl.col("wall_s").sum())
    )
    return joined.join(timed.select(*ONE, "verb", "lane", "node"), on=ONE).select("trial", *PIECE)


def _idle(timed: pl.DataFrame) -> pl.DataFrame:
    """Time in which workers that had ended waited for the slowest one, or for the merge."""
    end_s = pl.col("start_s") + pl.col("wall_s")
    lanes = (
        timed.filter(pl.col("verb") == "run")
        .with_columns(end_s=end_s)
        .sort("end_s")
        .group_by("trial", "lane")
        .agg(pl.col("end_s", "node", "last_task", "last_s", "last_lane").last())
    )
    for_the_slowest = lanes.select(
        "trial",
        "lane",
        "node",
        task="last_task",
        start_s="end_s",
        wall_s=pl.col("last_s") - pl.col("end_s"),
    )
    merges = timed.filter(pl.col("verb") == "merge").select("trial", "task", "start_s", "wall_s")
    # The worker that ended last has the merge on its own lane.
    for_the_merge = lanes.filter(pl.col("lane") != pl.col("last_lane")).join(merges, on="trial")
    return (
        pl.concat([for_the_slowest, for_the_merge.select(for_the_slowest.columns)])
        .filter(pl.col("wall_s") > NOTHING_S)
        .with_columns(part=pl.lit("idle"), verb=pl.lit(None, dtype=pl.String))
        .select("trial", *PIECE)
    )
