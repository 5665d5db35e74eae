"""`pyscale import`: traces become a table of wall times, with what was found and left out."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.report.wording import few, listing
from pyscale.traces.nextflow import read_nextflow
from pyscale.traces.sacct import read_sacct
from pyscale.traces.snakemake import read_metadata, read_snakemake
from pyscale.traces.tasks import Asked, TracedTask, refuse_twice_told
from pyscale.traces.tracefile import read_text
from pyscale.traces.trials import (
    LeftOut,
    TracedTrial,
    find_trials,
    intervals_of,
    stage_names,
    wall_time_table,
)
from pyscale_stages.atomic import write_atomically
from pyscale_stages.wording import did_you_mean, plural

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
            f"found {plural(len(trials), 'trial')} of {few(stages, NAMED)} in "
            f"{plural(tasks, 'task')}{alone}; those of one stage and N count as repeats of the "
            "same work"
        )
    if left_out:
        named = [f"{one.stage} {one.label} ({one.why})" for one in left_out]
        yield f"left out {plural(len(left_out), 'trial')}: {few(named, NAMED)}"
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
    if tasks and all(task.peak_memory_bytes is None for task in tasks):
        yield (
            "the trace has no job steps, so memory use and the number of workers of a job are "
            "unknown: leave out -X when you ask sacct"
        )


def _of_workers(trials: Sequence[TracedTrial]) -> Iterator[str]:
    fewer = [
        f"{trial.stage} {trial.label} ({plural(len(trial.tasks), 'task')}, N = {trial.workers})"
        for trial in trials
        if trial.lanes is not None and len(trial.tasks) > trial.workers
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
            yield (
                f"tasks of {stage} differ in size and are kept apart: {few(own, NAMED)}; if "
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
        times = sorted(when for trial in own for when in intervals_of(trial.tasks))
        overlap = any(later[0] < earlier[1] for earlier, later in pairwise(times))
        if (workers == 1 or own[0].lanes is None) and overlap:
            yield (
                f"trials of {stage} at N = {workers} ran at the same time: they are not repeats "
                "if each did a part of the work, as an array would"
            )


FORMATS: dict[str, tuple[str, Callable[[Path, str, Asked], list[TracedTask]]]] = {
    "sacct": (r"\A[^\n]*\bJobID\b", read_sacct),
    "nextflow": (
        r"\A[^\n]*\btask_id\b|\A(?=[^\n]*\bstatus\b)[^\n]*\brealtime\b",
        read_nextflow,
    ),
    "snakemake": (r"\A(?:s\W|[^\n]*\bh:m:s\b)", read_snakemake),
}
"""Formats, what the beginning of a trace of each holds, and what reads it."""
_OTHERS = (
    (
        r"\A\s*<",
        "a web page, as of `nextflow -with-report`: name the trace of `nextflow -with-trace`",
    ),
    (
        r"CPU Efficiency:|Memory Efficiency:",
        "the output of seff, which lacks data: ask sacct for these jobs",
    ),
    (
        r"\A(?=[^\n]*\bworkers\b)[^\n]*\bwall_s\b",
        "a table of wall times: use `pyscale report --table`",
    ),
)


def refuse_others(path: Path, text: str, said: str) -> None:
    """Refuse a file that looks like something else than the format it was said to be in."""
    # Enough to tell a format by, of a trace of any length.
    beginning = text[:100_000]
    like = [name for name, (signs, _) in FORMATS.items() if re.search(signs, beginning, re.DOTALL)]
    if said in like:
        return
    for signs, words in _OTHERS:
        if re.search(signs, beginning):
            raise UserError(f"{path} looks like {words}")
    if like:
        raise UserError(
            f"{path} looks like a trace of {like[0]}, not of {said}: "
            f"import it by `pyscale import {like[0]}`"
        )


def import_traces(
    trace_format: str,
    files: Sequence[Path],
    *,
    workers: str | None = None,
    stage: str | None = None,
    out: Path | None = None,
) -> None:
    """Turn traces into the table that `pyscale report --table` reads."""
    if trace_format not in FORMATS:
        raise UserError(
            f"unknown trace format {trace_format!r}: {did_you_mean(trace_format, FORMATS)}"
        )
    _check_files(files, out)
    asked = _asked(workers, stage)
    tasks: list[TracedTask] = []
    for path in files:
        if trace_format == "snakemake" and path.is_dir():
            tasks += read_metadata(path, asked)
            continue
        text = read_text(path)
        refuse_others(path, text, trace_format)
        tasks += FORMATS[trace_format][1](path, text, asked)
    refuse_twice_told(tasks)
    trials, left_out = find_trials(tasks, asked.workers)
    for sentence in sentences(trials, left_out, trace_format):
        talk(sentence)
    if not trials:
        raise UserError("no trial can be timed (reasons above): name other traces")
    table = wall_time_table(trials).write_csv()
    if out is None:
        sys.stdout.write(table)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, table)
    talk(f"table: {out}; see `pyscale report --table {out}` and `pyscale advise --table {out}`")


def _asked(workers: str | None, stage: str | None) -> Asked:
    if stage is not None and not stage.strip():
        raise UserError("--stage is empty: name the stage")
    if workers is None:
        return Asked(stage=stage)
    if not workers.isdecimal():
        return Asked(workers_column=workers, stage=stage)
    if int(workers) < 1:
        raise UserError("--workers must be at least 1, or the name of a column")
    return Asked(workers=int(workers), stage=stage)


def _check_files(files: Sequence[Path], out: Path | None) -> None:
    seen: set[Path] = set()
    for path in files:
        place = path.resolve()
        if place in seen:
            raise UserError(f"{path} is given twice: name each trace once")
        seen.add(place)
    if out is not None and out.resolve() in seen:
        raise UserError(f"--out {out} is one of the traces: name another file")
