"""What to ask a scheduler for at one N, from what its trials used."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import Field

from pyscale.analysis.advice import Choice
from pyscale.analysis.losses import GROUP
from pyscale.analysis.requested import memory_to_request
from pyscale_stages.contract import Record

if TYPE_CHECKING:
    import polars as pl

MEMORY_MARGIN = 1.2
"""By which `memory_to_request` multiplies the peak, before it rounds up to whole GiB."""
TIME_MARGIN = 2.0
"""Other nodes, a busy filesystem and cells in other places take longer; a job over its limit is
lost, and one below it waits hardly longer."""
TIME_STEP_S = 300


class Request(Record):
    """What one task of a stage asks for, and how many of them run at once."""

    suite: str | None
    stage: str
    device: str | None
    workers: int = Field(description="N: tasks that run at once")
    windows: int = Field(description="Tasks in all")
    cpus: int | None = Field(description="Cores of a task; None is not known")
    gpus: int = Field(description="GPUs of a task")
    memory_bytes: int | None = Field(description="Memory of a task; None is not known")
    time_s: int = Field(description="Time limit of a task")
    peak_rss_bytes: int | None = Field(description="The most that a task of these trials used")
    longest_task_s: float = Field(description="The longest that a task of these trials took")
    work_per_window: float | None = Field(
        description="What a task processed, as frames; None is not known"
    )


def request_of(
    choice: Choice, trials: pl.DataFrame, *, cpus: int | None = None, gpus: int = 0
) -> Request | None:
    """Derive what to ask for from the timed trials of the N that was chosen.

    Parameters
    ----------
    choice : Choice
    trials : polars.DataFrame
        As `trial_table` or `trials_from_wall_times` gives them.
    cpus, gpus
        What each worker had, where its trials asked no scheduler for it.

    Returns
    -------
    Request or None
        None where no N was chosen.
    """
    import polars as pl

    if choice.workers is None:
        return None
    timed = trials.filter(
        pl.col("valid"),
        pl.col("workers") == choice.workers,
        *(pl.col(name).eq_missing(pl.lit(getattr(choice, name))) for name in GROUP),
    )
    peak = _largest(timed["peak_rss_bytes"])
    asked_cpus, asked_gpus = (_largest(timed[f"requested_{what}"]) for what in ("cpus", "gpus"))
    # A trial whose tasks nobody timed one by one has no task longer than itself.
    longest_s = _largest(timed["longest_task_s"]) or _largest(timed["wall_s"])
    windows = _largest(timed["windows"]) or choice.workers
    work = _largest(timed["work"])
    assert longest_s is not None
    return Request(
        suite=choice.suite,
        stage=choice.stage,
        device=choice.device,
        workers=choice.workers,
        windows=int(windows),
        cpus=cpus if asked_cpus is None else int(asked_cpus),
        gpus=gpus if asked_gpus is None else int(asked_gpus),
        memory_bytes=None if peak is None else memory_to_request(int(peak)),
        time_s=max(1, math.ceil(TIME_MARGIN * longest_s / TIME_STEP_S)) * TIME_STEP_S,
        peak_rss_bytes=None if peak is None else int(peak),
        longest_task_s=longest_s,
        work_per_window=None if work is None else work / windows,
    )


def requests_at_knees(
    choices: Iterable[Choice], trials: pl.DataFrame, *, cpus: int | None = None
) -> list[Request]:
    """Derive what to ask for at the knee of each curve that has one.

    Parameters
    ----------
    choices : iterable of Choice
        Of all objectives.
    trials : polars.DataFrame
    cpus : int or None
        Cores of each worker, where its trials asked no scheduler for them.
    """
    found = (
        request_of(choice, trials, cpus=cpus, gpus=int(choice.device == "cuda"))
        for choice in choices
        if choice.objective == "knee"
    )
    return [request for request in found if request is not None]


def _largest(values: pl.Series) -> float | None:
    return max(values.drop_nulls().to_list(), default=None)
