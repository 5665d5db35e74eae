"""Findings and caveats of imported traces, in sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pyscale.report.wording import listing
from pyscale.traces.tasks import TracedTask
from pyscale.traces.trials import LeftOut, TracedTrial, intervals_of, stage_names

NAMED = 5
"""So many of several are named."""
SHORT_S = 50.0
"""Whole seconds are more than 2 % of what is shorter."""


def sentences(
    trials: Sequence[TracedTrial], left_out: Sequence[LeftOut], trace_format: str
) -> Iterator[str]:
    """Say what was found, what was left out and why, and where doubt is in place."""
    if trials:
        stages = dict.fromkeys(stage_names(trials))
        tasks = sum(len(trial.tasks) for trial in trials)
        alone = ", each a trial by itself" if trials[0].tasks[0].is_trial else ""
        yield (
            f"found {_count(len(trials), 'trial')} of {_some(list(stages))} in "
            f"{_count(tasks, 'task')}{alone}; those of one stage and N count as repeats of the "
            "same work"
        )
    if left_out:
        named = [f"{one.stage} {one.label} ({one.why})" for one in left_out]
        yield f"left out {_count(len(left_out), 'trial')}: {_some(named)}"
    yield from _of_workers(trials)
    yield from _of_sizes(trials)
    yield from _of_repeats(trials)
    if trace_format == "sacct":
        yield from _of_sacct([task for trial in trials for task in trial.tasks])


def _of_sacct(tasks: Sequence[TracedTask]) -> Iterator[str]:
    shortest_s = min((task.wall_s or 0.0 for task in tasks), default=SHORT_S)
    if shortest_s < SHORT_S:
        yield (
            f"sacct counts whole seconds, and the shortest task took {shortest_s:g} s: its time "
            f"is uncertain by up to {100 / shortest_s:.0f} %"
        )
    if any(task.energy_j is not None for task in tasks):
        yield (
            "energy is left out of jobs that shared a node, because Slurm counts the energy of "
            "whole nodes"
        )
    if tasks and all(task.peak_memory_bytes is None for task in tasks):
        yield (
            "the trace has no job steps, so memory use and the number of workers of a job are "
            "unknown: leave out -X when you ask sacct"
        )


def _of_workers(trials: Sequence[TracedTrial]) -> Iterator[str]:
    fewer = [
        f"{trial.stage} {trial.label} ({len(trial.tasks)} tasks, N = {trial.workers})"
        for trial in trials
        if trial.lanes is not None and len(trial.tasks) > trial.workers
    ]
    if fewer:
        yield (
            "N is how many tasks ran at once, unless it was given; the tasks of one worker are "
            f"added up: {_some(fewer)}"
        )
    late = [
        f"{trial.stage} {trial.label} ({trial.at_once} of {trial.workers})"
        for trial in trials
        if trial.at_once is not None and trial.at_once < trial.workers
    ]
    if late:
        yield f"N is as given, but fewer workers ran at once: {_some(late)}"


def _of_sizes(trials: Sequence[TracedTrial]) -> Iterator[str]:
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for trial, name in zip(trials, stage_names(trials), strict=True):
        names[trial.stage][name] = None
    for stage, own in names.items():
        if len(own) > 1:
            yield (
                f"tasks of {stage} differ in size and are kept apart: {_some(list(own))}; if "
                "their size is what scales, name its column, e.g. --workers AllocCPUS"
            )


def _of_repeats(trials: Sequence[TracedTrial]) -> Iterator[str]:
    repeats: dict[tuple[str, int], list[TracedTrial]] = defaultdict(list)
    for trial, stage in zip(trials, stage_names(trials), strict=True):
        repeats[stage, trial.workers].append(trial)
    for (stage, workers), own in repeats.items():
        counts = sorted({len(trial.tasks) for trial in own})
        if len(counts) > 1:
            yield (
                f"trials of {stage} at N = {workers} have {listing(counts)} tasks: they are "
                "repeats only if they did the same work"
            )
        if (workers == 1 or own[0].lanes is None) and _ran_at_once(own):
            yield (
                f"trials of {stage} at N = {workers} ran at the same time: they are not repeats "
                "if each did a part of the work, as an array would"
            )


def _ran_at_once(trials: Sequence[TracedTrial]) -> bool:
    times = sorted(when for trial in trials for when in intervals_of(trial.tasks))
    return any(later[0] < earlier[1] for earlier, later in pairwise(times))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _some(words: Sequence[str]) -> str:
    if len(words) <= NAMED:
        return listing(words)
    return f"{', '.join(words[:NAMED])} and {len(words) - NAMED} more"
