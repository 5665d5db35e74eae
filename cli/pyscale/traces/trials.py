"""Trials from the tasks of traces, and the table of wall times that `--table` reads of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import polars as pl

from pyscale.analysis.schema import REAL, TEXT, WHOLE, columns
from pyscale.analysis.workers import Interval, lanes_of, most_at_once
from pyscale.traces.tracefile import TracedTask
from pyscale.wording import listing
from pyscale_stages.wording import plural


@dataclass(frozen=True)
class TracedTrial:
    """A trial: tasks that N workers did, each one after the other."""

    tasks: tuple[TracedTask, ...]
    workers: int
    lanes: tuple[tuple[TracedTask, ...], ...]
    """Tasks of each worker."""
    at_once: int | None
    """How many of its tasks ran at the same moment, where the trace tells."""

    @property
    def stage(self) -> str:
        """Its stage, as the trace names it."""
        return self.tasks[0].stage

    @property
    def label(self) -> str:
        """What a user knows it by."""
        return self.tasks[0].trial

    @property
    def start(self) -> datetime | None:
        """When its first task began, to be compared with others."""
        return min((when[0] for when in intervals_of(self.tasks)), default=None)

    @cached_property
    def size(self) -> tuple[tuple[int | None, int | None], ...]:
        """CPUs and GPUs of its tasks; several where they differ."""
        sizes = {(task.cpus, task.gpus) for task in self.tasks}
        return tuple(sorted(sizes, key=lambda size: (size[0] or 0, size[1] or 0)))


def find_trials(
    tasks: Sequence[TracedTask], workers: int | None
) -> tuple[list[TracedTrial], list[str]]:
    """Put the tasks of each trial together, and name those that cannot be timed, with the reason.

    N is what the user says, else how many tasks of the trial ran at once: an array that Slurm held
    back did not have as many workers as elements. A trial counts as a whole or not at all: what
    some of its tasks took is no time of its work.
    """
    groups: dict[tuple[object, ...], list[TracedTask]] = defaultdict(list)
    for task in tasks:
        source = None if task.across_files else task.source
        groups[(task.stage, task.trial, source)].append(task)
    trials, left_out = [], []
    for own in groups.values():
        found = _trial(own, workers)
        if isinstance(found, TracedTrial):
            trials.append(found)
        else:
            left_out.append(f"{own[0].stage} {own[0].trial} ({found})")
    return trials, left_out


def _trial(tasks: Sequence[TracedTask], given: int | None) -> TracedTrial | str:
    """A trial, or why these tasks are none."""
    flaws = Counter(task.flaw for task in tasks if task.flaw is not None)
    if len(tasks) == 1 and flaws:
        return ", ".join(flaws)
    if flaws:
        counts = [f"{count} {flaw}" for flaw, count in flaws.items()]
        return f"of {plural(len(tasks), 'task')} {listing(counts)}"
    intervals = intervals_of(tasks)
    # Tasks without a length ran at no moment.
    at_once = max(most_at_once(intervals), 1) if len(intervals) == len(tasks) else None
    workers = given or at_once
    if workers is None:
        return "the trace does not show what ran at once: set --workers"
    if len(tasks) < workers:
        return f"only {len(tasks)} of {workers} workers had a task"
    if at_once is not None and at_once > workers:
        return f"{plural(at_once, 'task')} ran at once, more than the {plural(workers, 'worker')}"
    if at_once is None and len(tasks) > workers > 1:
        return f"the trace does not show which of {workers} workers did which of {len(tasks)} tasks"
    return TracedTrial(tuple(tasks), workers, _lanes(tasks, intervals, workers), at_once)


def intervals_of(tasks: Sequence[TracedTask]) -> list[Interval]:
    """When tasks ran, of those of which that is known."""
    return [when for when in (task.interval for task in tasks) if when is not None]


def _lanes(
    tasks: Sequence[TracedTask], intervals: Sequence[Interval], workers: int
) -> tuple[tuple[TracedTask, ...], ...]:
    if len(tasks) == workers:
        return tuple((task,) for task in tasks)
    if workers == 1:
        return (tuple(tasks),)
    lanes: dict[int, list[TracedTask]] = defaultdict(list)
    for task, lane in zip(tasks, lanes_of(intervals, workers), strict=True):
        lanes[lane].append(task)
    return tuple(tuple(own) for _, own in sorted(lanes.items()))


NEVER = (datetime.min, datetime.min)


def wall_time_table(trials: Sequence[TracedTrial]) -> pl.DataFrame:
    """Make one row of each worker of each trial.

    Tasks of other sizes are another stage: a trial on 8 CPUs is no repeat of one on 2.
    """
    kinds = columns(
        (TEXT, "stage"),
        (WHOLE, "workers repeat"),
        (TEXT, "task"),
        (REAL, "wall_s"),
        (TEXT, "trial"),
        (WHOLE, "tasks_done"),
        (TEXT, "start end"),
        (WHOLE, "cpus gpus"),
        (REAL, "cpu_s"),
        (WHOLE, "requested_memory_bytes peak_memory_bytes"),
        (TEXT, "node state"),
    )
    names = stage_names(trials)
    repeats: dict[tuple[str, int], int] = defaultdict(int)
    rows = []
    # Stages as they come, their trials by N and time.
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    order = sorted(
        zip(trials, names, strict=True),
        key=lambda pair: (places[pair[1]], pair[0].workers, pair[0].start or datetime.min),
    )
    for trial, stage in order:
        repeat = repeats[stage, trial.workers]
        repeats[stage, trial.workers] += 1
        which = {"stage": stage, "workers": trial.workers, "repeat": repeat}
        rows += [which | _row(trial, tasks) for tasks in trial.lanes]
    return pl.DataFrame(rows, schema=kinds, orient="row")


def stage_names(trials: Sequence[TracedTrial]) -> list[str]:
    """Name of each trial's stage, with the size of its tasks where a stage has several."""
    sizes: dict[str, set[Any]] = defaultdict(set)
    for trial in trials:
        sizes[trial.stage].add(trial.size)
    return [
        f"{trial.stage} ({_size_words(trial)})" if len(sizes[trial.stage]) > 1 else trial.stage
        for trial in trials
    ]


def _size_words(trial: TracedTrial) -> str:
    words = []
    for cpus, gpus in trial.size:
        own = [plural(cpus, "CPU")] if cpus is not None else []
        own += [plural(gpus, "GPU")] if gpus else []
        words.append(", ".join(own) or "CPUs unknown")
    return " or ".join(words)


def _row(trial: TracedTrial, tasks: Sequence[TracedTask]) -> dict[str, Any]:
    """What one worker did, in one task or several."""
    first = min(tasks, key=lambda task: task.interval or NEVER)
    last = max(tasks, key=lambda task: (task.interval or NEVER)[1])
    # Dates by which a task ended before it began are of a clock that was set back meanwhile.
    dated = all(task.interval or not (task.start and task.end) for task in tasks)
    return {
        "task": first.name,
        "wall_s": sum(task.wall_s or 0.0 for task in tasks),
        "trial": trial.label,
        "tasks_done": len(tasks),
        "start": first.start.isoformat() if first.start and dated else None,
        "end": last.end.isoformat() if last.end and dated else None,
        # A task runs on some: none is what schedulers write where they do not know.
        "cpus": _largest(task.cpus for task in tasks) or None,
        "gpus": _largest(task.gpus for task in tasks),
        "cpu_s": _sum([task.cpu_s for task in tasks]),
        "requested_memory_bytes": _largest(task.requested_memory_bytes for task in tasks),
        "peak_memory_bytes": _largest(task.peak_memory_bytes for task in tasks),
        "node": " ".join(dict.fromkeys(task.node for task in tasks if task.node)) or None,
        "state": " ".join(dict.fromkeys(task.state for task in tasks if task.state)) or None,
    }


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
