"""`pyscale import`: traces become a table of wall times."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.traces.jobstats import read_jobstats
from pyscale.traces.nextflow import read_nextflow
from pyscale.traces.recognise import refuse_others
from pyscale.traces.sacct import read_sacct
from pyscale.traces.sentences import sentences
from pyscale.traces.snakemake import read_snakemake
from pyscale.traces.table import wall_time_table
from pyscale.traces.tasks import Asked, TracedTask, refuse_twice_told
from pyscale.traces.tracefile import read_text
from pyscale.traces.trials import find_trials
from pyscale_stages.atomic import write_atomically
from pyscale_stages.wording import did_you_mean

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
    """Turn traces into the table that `pyscale report --table` reads.

    Parameters
    ----------
    trace_format : str
        One of `READERS`.
    files : sequence of Path
    workers : str or None
        N of every trial, or the column of the trace that holds it.
    stage : str or None
        Name of the stage, where the trace names none.
    out : Path or None
        Where the table goes; None is stdout.

    Raises
    ------
    UserError
        If a file cannot be used, or holds no trial that can be timed.
    """
    if trace_format not in READERS:
        raise UserError(
            f"{trace_format!r} is no format of traces: {did_you_mean(trace_format, READERS)}"
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
        raise UserError("no trial is left that can be timed: see above why, and give other traces")
    table = wall_time_table(trials).write_csv()
    if out is None:
        sys.stdout.write(table)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, table)
    talk(f"table: {out}; see `pyscale report --table {out}` and `pyscale advise --table {out}`")


def _asked(workers: str | None, stage: str | None) -> Asked:
    if stage is not None and not stage.strip():
        raise UserError("--stage is empty: give the name of the stage")
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
            raise UserError(f"{path} is given twice: give each trace once")
        seen.add(place)
    if out is not None and out.resolve() in seen:
        raise UserError(f"--out {out} is one of the traces: name another file")
