"""`pyscale import`: traces become a table of wall times, with what was found and left out."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.traces.sacct import read_sacct
from pyscale.traces.tracefile import Asked, TracedTask, refuse_twice_told
from pyscale.traces.trials import (
    TracedTrial,
    find_trials,
    intervals_of,
    stage_names,
    wall_time_table,
)
from pyscale.traces.workflows import read_nextflow, read_snakemake
from pyscale.wording import few
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
