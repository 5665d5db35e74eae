"""`pyscale import`: traces become a table of wall times."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.traces.jobstats import read_jobstats
from pyscale.traces.nextflow import read_nextflow
from pyscale.traces.sacct import read_sacct
from pyscale.traces.sentences import sentences
from pyscale.traces.snakemake import read_snakemake
from pyscale.traces.tasks import Asked, TracedTask, refuse_twice_told
from pyscale.traces.tracefile import read_text
from pyscale.traces.trials import find_trials, wall_time_table
from pyscale_stages.atomic import write_atomically
from pyscale_stages.wording import did_you_mean

_SIGNS = (
    ("sacct", r"\A[^\n]*\bJobID\b"),
    ("nextflow", r"\A[^\n]*\btask_id\b|\A(?=[^\n]*\bstatus\b)[^\n]*\brealtime\b"),
    ("snakemake", r"\A(?:s\W|[^\n]*\bh:m:s\b)"),
    ("jobstats", r'\A\s*(?:JS1:|H4sI)|\A\s*\{(?=.*"nodes").*"total_time"'),
)
"""Formats, and what the beginning of a trace holds."""
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
    beginning = text[:100_000]
    like = [name for name, signs in _SIGNS if re.search(signs, beginning, re.DOTALL)]
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


READERS: dict[str, Callable[[Path, str, Asked], list[TracedTask]]] = {
    "sacct": read_sacct,
    "nextflow": read_nextflow,
    "snakemake": read_snakemake,
    "jobstats": read_jobstats,
}
"""Formats, and what reads each."""


def import_traces(
    trace_format: str,
    files: Sequence[Path],
    *,
    workers: str | None = None,
    stage: str | None = None,
    out: Path | None = None,
) -> None:
    """Turn traces into the table that `pyscale report --table` reads."""
    if trace_format not in READERS:
        raise UserError(
            f"unknown trace format {trace_format!r}: {did_you_mean(trace_format, READERS)}"
        )
    _check_files(files, out)
    asked = _asked(workers, stage)
    tasks: list[TracedTask] = []
    for path in files:
        text = read_text(path)
        refuse_others(path, text, trace_format)
        tasks += READERS[trace_format](path, text, asked)
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
