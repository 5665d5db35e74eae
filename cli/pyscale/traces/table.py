"""The table of wall times that `pyscale report --table` reads, from the trials of traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from pyscale.traces.tasks import TracedTask, without_zone
from pyscale.traces.trials import TracedTrial

NEVER = (datetime.min, datetime.min)


def wall_time_table(trials: Sequence[TracedTrial]) -> pl.DataFrame:
    """Make one row of each worker of each trial.

    Tasks of other sizes are another stage: a trial on 8 CPUs is no repeat of one on 2. Where N
    was taken from a column, a trial is one row, and its workers are not told apart.

    Returns
    -------
    polars.DataFrame
        `stage, workers, repeat, task, wall_s`, where workers are told apart; and what the trace
        tells beside: `trial, tasks_done, start, end, cpus, gpus, cpu_s,
        requested_memory_bytes, peak_memory_bytes, energy_j, node, state`.
    """
    kinds: dict[str, Any] = {
        "stage": pl.String,
        "workers": pl.Int64,
        "repeat": pl.Int64,
        "task": pl.String,
        "wall_s": pl.Float64,
        "trial": pl.String,
        "tasks_done": pl.Int64,
        "start": pl.String,
        "end": pl.String,
        "cpus": pl.Int64,
        "gpus": pl.Int64,
        "cpu_s": pl.Float64,
        "requested_memory_bytes": pl.Int64,
        "peak_memory_bytes": pl.Int64,
        "energy_j": pl.Float64,
        "node": pl.String,
        "state": pl.String,
    }
    names = stage_names(trials)
    repeats: dict[tuple[str, int], int] = defaultdict(int)
    rows = []
    # A table has dates of one kind, even where traces with a time zone and without stand together.
    dates = [date for trial in trials for task in trial.tasks for date in (task.start, task.end)]
    zoned = all(date is None or date.tzinfo is not None for date in dates)
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
        lanes = trial.lanes or (trial.tasks,)
        rows += [which | _row(trial, tasks, zoned=zoned) for tasks in lanes]
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    told_apart = all(trial.lanes is not None for trial in trials)
    return table if told_apart else table.drop("task")


def stage_names(trials: Sequence[TracedTrial]) -> list[str]:
    """Name of each trial's stage, with the size of its tasks where a stage has several."""
    sizes: dict[str, set[Any]] = defaultdict(set)
    for trial in trials:
        sizes[trial.stage].add(trial.size)
    return [
        f"{trial.stage} ({_size_words(trial)})"
        if len(sizes[trial.stage]) > 1 and not trial.scales_in_size
        else trial.stage
        for trial in trials
    ]


def _size_words(trial: TracedTrial) -> str:
    words = []
    for cpus, gpus in trial.size:
        own = [f"{cpus} CPU{'' if cpus == 1 else 's'}"] if cpus is not None else []
        own += [f"{gpus} GPU{'' if gpus == 1 else 's'}"] if gpus else []
        words.append(", ".join(own) or "CPUs unknown")
    return " or ".join(words)


def _row(trial: TracedTrial, tasks: Sequence[TracedTask], *, zoned: bool) -> dict[str, Any]:
    """What one worker did, in one task or several; `zoned` is whether dates keep a time zone."""
    first = min(tasks, key=lambda task: task.interval or NEVER)
    last = max(tasks, key=lambda task: (task.interval or NEVER)[1])
    # Dates by which a task ended before it began are of a clock that was set back meanwhile.
    dated = all(task.interval or not (task.start and task.end) for task in tasks)
    return {
        "task": first.name,
        "wall_s": sum(task.wall_s or 0.0 for task in tasks),
        "trial": trial.label,
        "tasks_done": len(tasks),
        "start": _written(first.start, zoned) if dated else None,
        "end": _written(last.end, zoned) if dated else None,
        # A task runs on some: none is what schedulers write where they do not know.
        "cpus": _largest(task.cpus for task in tasks) or None,
        "gpus": _largest(task.gpus for task in tasks),
        "cpu_s": _sum([task.cpu_s for task in tasks]),
        "requested_memory_bytes": _largest(task.requested_memory_bytes for task in tasks),
        "peak_memory_bytes": _largest(task.peak_memory_bytes for task in tasks),
        "energy_j": _sum([task.energy_j for task in tasks]),
        "node": " ".join(dict.fromkeys(task.node for task in tasks if task.node)) or None,
        "state": " ".join(dict.fromkeys(task.state for task in tasks if task.state)) or None,
    }


def _written(date: datetime | None, zoned: bool) -> str | None:
    if date is None:
        return None
    return (date if zoned else without_zone(date)).isoformat()


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
