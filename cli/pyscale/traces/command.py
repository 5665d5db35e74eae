"""`pyscale import`: the tasks of traces become trials, and a table of wall times."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from pyscale.analysis.declared import REAL, TEXT, WHOLE, columns
from pyscale.analysis.workers import Interval, lanes_of, most_at_once
from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.traces.sacct import read_sacct
from pyscale.traces.tracefile import Asked, TracedTask, refuse_twice_told
from pyscale.traces.workflows import read_nextflow, read_snakemake
from pyscale.wording import few, listing
from pyscale_stages.atomic import write_atomically
from pyscale_stages.wording import did_you_mean, plural

NAMED = 5
"""So many of several are named."""
WITHOUT_STEPS = (
    "the trace has no job steps, so memory use and the number of workers of a job are unknown: "
    "leave out -X when you ask sacct"
)


def sentences(trials: Sequence[TracedTrial], left_out: Sequence[str]) -> Iterator[str]:
    """Say what was found, what was left out and why, and where doubt is in place."""
    if trials:
        stages = dict.fromkeys(stage_names(trials))
        tasks = sum(len(trial.tasks) for trial in trials)
        yield (
            f"found {plural(len(trials), 'trial')} of {few(stages, NAMED)} in "
            f"{plural(tasks, 'task')}; those of one stage and N count as repeats of the "
            "same work"
        )
    if left_out:
        yield f"left out {plural(len(left_out), 'trial')}: {few(left_out, NAMED)}"
    yield from _of_workers(trials)
    yield from _of_sizes(trials)
    yield from _of_repeats(trials)


def _of_workers(trials: Sequence[TracedTrial]) -> Iterator[str]:
    fewer = [
        f"{trial.stage} {trial.label} ({plural(len(trial.tasks), 'task')}, N = {trial.workers})"
        for trial in trials
        if len(trial.tasks) > trial.workers
    ]
    if fewer:
        yield (
            "N is how many tasks ran at once, unless it was given; the tasks of one worker are "
            f"added up: {few(fewer, NAMED)}"
        )
    late = [
        f"{trial.stage} {trial.label} ({trial.at_once} of {trial.workers})"
        for trial in trials
        if trial.at_once is not None and trial.at_once < trial.workers
    ]
    if late:
        yield f"N is as given, but fewer workers ran at once: {few(late, NAMED)}"


def _of_sizes(trials: Sequence[TracedTrial]) -> Iterator[str]:
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for trial, name in zip(trials, stage_names(trials), strict=True):
        names[trial.stage][name] = None
    for stage, own in names.items():
        if len(own) > 1:
            yield f"tasks of {stage} differ in size and are kept apart: {few(own, NAMED)}"


def _of_repeats(trials: Sequence[TracedTrial]) -> Iterator[str]:
    repeats: dict[tuple[str, int], list[TracedTrial]] = defaultdict(list)
    for trial, stage in zip(trials, stage_names(trials), strict=True):
        repeats[stage, trial.workers].append(trial)
    for (stage, workers), own in repeats.items():
        times = sorted(when for trial in own for when in intervals_of(trial.tasks))
        overlap = any(later[0] < earlier[1] for earlier, later in pairwise(times))
        if workers == 1 and overlap:
            yield (
                f"trials of {stage} at N = {workers} ran at the same time: they are not repeats "
                "if each did a part of the work, as an array would"
            )


FORMATS: dict[str, Callable[[Path, Asked], list[TracedTask]]] = {
    "sacct": read_sacct,
    "nextflow": read_nextflow,
    "snakemake": read_snakemake,
}


def import_traces(
    trace_format: str,
    files: Sequence[Path],
    *,
    workers: int | None = None,
    stage: str | None = None,
    out: Path | None = None,
) -> None:
    """Turn traces into the table that `pyscale report --table` reads."""
    if trace_format not in FORMATS:
        raise UserError(
            f"unknown trace format {trace_format!r}: {did_you_mean(trace_format, FORMATS)}"
        )
    if out is not None and out.resolve() in {path.resolve() for path in files}:
        raise UserError(f"--out {out} is one of the traces: name another file")
    if stage is not None and not stage.strip():
        raise UserError("--stage is empty: name the stage")
    asked = Asked(workers, stage)
    tasks = [task for path in files for task in FORMATS[trace_format](path, asked)]
    refuse_twice_told(tasks)
    trials, left_out = find_trials(tasks, workers)
    for sentence in sentences(trials, left_out):
        talk(sentence)
    if trace_format == "sacct" and all(task.peak_memory_bytes is None for task in tasks):
        talk(WITHOUT_STEPS)
    if not trials:
        raise UserError("no trial can be timed (reasons above): name other traces")
    table = wall_time_table(trials).write_csv()
    if out is None:
        sys.stdout.write(table)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, table)
    talk(f"table: {out}; see `pyscale report --table {out}` and `pyscale advise --table {out}`")


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
