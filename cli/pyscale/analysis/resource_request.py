"""Resources that tasks requested beside their use, and those to request at one N."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from pydantic import Field

from pyscale.analysis.advice import Choice
from pyscale.analysis.losses import OfCurve, in_curve

GIB = 1 << 30
MEMORY_MARGIN = 1.2
"""By which `memory_to_request` multiplies the peak, before it rounds up to whole GiB."""
TIME_MARGIN = 2.0
"""Other nodes, a busy filesystem and cells in other places take longer; a job over its limit is
lost, and one below it waits hardly longer."""
TIME_STEP_S = 300


def memory_to_request(peak_bytes: int) -> int:
    """Memory to ask for, as Princeton's jobstats does: a fifth above the peak, in whole GiB."""
    # In whole numbers: a float a bit too large would be rounded up to one GiB more.
    tenths_of_gib = 10 * GIB
    return max(1, -(-12 * peak_bytes // tenths_of_gib)) * GIB


def requested_and_used(timed: pl.DataFrame) -> dict[str, Any]:
    """Requests of one configuration beside their use, over its timed trials (one or more)."""
    peak = largest(timed["peak_rss_bytes"])
    requested = largest(timed["requested_memory_bytes"])
    share, enough = None, None
    if peak is not None and requested is not None:
        share, enough = peak / requested, memory_to_request(peak)
    return {
        "peak_rss_bytes": peak,
        "requested_memory_bytes": requested,
        "memory_used_share": share,
        "memory_to_request_bytes": enough,
        "cores_used": timed["cores_used"].median(),
        "requested_cpus": largest(timed["requested_cpus"]),
    }


def largest(values: pl.Series) -> Any:
    """Return the largest of what is known; None where nothing is."""
    return max(values.drop_nulls().to_list(), default=None)


class Request(OfCurve):
    """Resources of one task of a stage, and the number of tasks that run at once."""

    workers: int = Field(description="Tasks that run at once")
    windows: int = Field(description="Tasks in all")
    cpus: int | None = Field(description="Cores of a task; None is not known")
    gpus: int = Field(description="GPUs of a task")
    memory_bytes: int | None = Field(description="Memory of a task; None is not known")
    time_s: int = Field(description="Time limit of a task")
    peak_rss_bytes: int | None = Field(description="The most that a task of these trials used")
    longest_task_s: float = Field(
        description="The longest that a task of these trials took, or a whole trial"
    )
    tasks_timed: bool = Field(True, description="Whether it is a task's time, not a trial's")
    work_per_window: float | None = Field(
        description="What a task processed, as frames; None is not known"
    )


def request_of(choice: Choice, trials: pl.DataFrame, *, cpus: int | None = None) -> Request | None:
    """Derive what to ask for from the timed trials of the N that was chosen, if one was.

    `cpus` are the cores of each worker, where its trials asked no scheduler for them.
    """
    if choice.workers is None:
        return None
    timed = trials.filter("valid", pl.col("workers") == choice.workers, in_curve(choice.curve))
    peak = largest(timed["peak_rss_bytes"])
    asked_cpus, asked_gpus = (largest(timed[f"requested_{what}"]) for what in ("cpus", "gpus"))
    # A trial whose tasks nobody timed one by one has no task longer than itself.
    longest_task_s = largest(timed["longest_task_s"])
    longest_s = longest_task_s or largest(timed["wall_s"])
    windows = largest(timed["windows"]) or choice.workers
    # Fewer tasks than workers have them as threads.
    work, threads = largest(timed["work"]), max(1, choice.workers // windows)
    return Request(
        **choice.curve,
        workers=min(choice.workers, windows),
        windows=windows,
        # Those of a worker, or of all that are threads of one process.
        cpus=asked_cpus if asked_cpus is not None else cpus and cpus * threads,
        gpus=int(choice.device == "cuda") if asked_gpus is None else asked_gpus,
        memory_bytes=None if peak is None else memory_to_request(peak),
        time_s=max(1, math.ceil(TIME_MARGIN * longest_s / TIME_STEP_S)) * TIME_STEP_S,
        peak_rss_bytes=peak,
        longest_task_s=longest_s,
        tasks_timed=longest_task_s is not None,
        work_per_window=None if work is None else work / windows,
    )
