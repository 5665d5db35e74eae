"""Trials from the tasks of traces, with the tasks of each worker."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from pyscale.analysis.lanes import Interval, lanes_of, most_at_once
from pyscale.report.wording import listing
from pyscale.traces.tasks import TracedTask


@dataclass(frozen=True)
class TracedTrial:
    """A trial: tasks that N workers did, each one after the other."""

    tasks: tuple[TracedTask, ...]
    workers: int
    lanes: tuple[tuple[TracedTask, ...], ...] | None
    """Tasks of each worker; None where these are not told apart."""
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

    @property
    def scales_in_size(self) -> bool:
        """Whether N is the size of its one task, as where CPUs are taken for workers."""
        return self.tasks[0].is_trial and self.tasks[0].workers is not None

    @cached_property
    def size(self) -> tuple[tuple[int | None, int | None], ...]:
        """CPUs and GPUs of its tasks; several where they differ."""
        sizes = {(task.cpus, task.gpus) for task in self.tasks}
        return tuple(sorted(sizes, key=lambda size: (size[0] or 0, size[1] or 0)))


@dataclass(frozen=True)
class LeftOut:
    """Tasks that are no trial to be timed, and why not."""

    stage: str
    label: str
    why: str


def find_trials(
    tasks: Sequence[TracedTask], workers: int | None
) -> tuple[list[TracedTrial], list[LeftOut]]:
    """Put the tasks of each trial together.

    N is what the user or the trace says, else how many tasks of the trial ran at once: an array
    that Slurm held back did not have as many workers as elements. A trial counts as a whole or
    not at all: what some of its tasks took is no time of its work.
    """
    groups: dict[tuple[object, ...], list[TracedTask]] = defaultdict(list)
    for place, task in enumerate(tasks):
        alone = place if task.is_trial else None
        source = None if task.across_files else task.source
        groups[(task.stage, task.trial, source, alone)].append(task)
    trials, left_out = [], []
    for own in groups.values():
        found = _trial(own, workers)
        if isinstance(found, TracedTrial):
            trials.append(found)
        else:
            first = own[0]
            left_out.append(
                LeftOut(first.stage, first.name if first.is_trial else first.trial, found)
            )
    return trials, left_out


def _trial(tasks: Sequence[TracedTask], given: int | None) -> TracedTrial | str:
    """A trial, or why these tasks are none."""
    flaws = Counter(task.flaw for task in tasks if task.flaw is not None)
    if len(tasks) == 1 and flaws:
        return ", ".join(flaws)
    if flaws:
        counts = [f"{count} {flaw}" for flaw, count in flaws.items()]
        return f"of {len(tasks)} tasks {listing(counts)}"
    intervals = intervals_of(tasks)
    at_once = max(most_at_once(intervals), 1) if len(intervals) == len(tasks) else None
    told = given or tasks[0].workers
    if tasks[0].is_trial and told:
        return TracedTrial(tuple(tasks), told, (tuple(tasks),) if told == 1 else None, None)
    workers = told or at_once
    if workers is None:
        return "the trace does not show what ran at once: set --workers"
    if len(tasks) < workers:
        return f"only {len(tasks)} of {workers} workers had a task"
    if at_once is not None and at_once > workers:
        return f"{at_once} tasks ran at once, more than the {workers} workers"
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
