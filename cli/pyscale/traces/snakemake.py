"""Benchmarks of Snakemake: a rule is a stage; a file is a job, and a line one repeat of it.

Metadata that Snakemake keeps of its own accord are read too: a folder of them is a trial.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from pyscale.errors import UserError
from pyscale.traces.tracefile import NO_TIME, Asked, Layout, Row, TracedTask, rows_of, stage_name

EXTENDED = "let Snakemake write it with --benchmark-extended"
LAYOUT = Layout("\t", ("s", "h:m:s"), "give it as Snakemake's `benchmark:` wrote it")
MIB = 1024 * 1024


def read_snakemake(path: Path, asked: Asked) -> list[TracedTask]:
    """Read a benchmark file, plain or extended, or a folder of metadata.

    No line of a benchmark tells when a job ran, so how many ran at once must be given.
    """
    if path.is_dir():
        return read_metadata(path, asked)
    rows = rows_of(path, LAYOUT)
    return [_task(path, row, repeat, asked) for repeat, row in enumerate(rows)]


def read_metadata(folder: Path, asked: Asked) -> list[TracedTask]:
    """Read what Snakemake keeps of each file that a rule wrote, in `.snakemake/metadata`.

    Unlike a benchmark it needs no word in the rule, and tells when a job ran. Rules that write no
    file have no record.
    """
    if asked.workers_column is not None:
        raise UserError(f"{folder} has no columns: set --workers to a number, or leave it out")
    jobs: dict[tuple[object, ...], TracedTask] = {}
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        try:
            told = json.loads(path.read_bytes())
            times = [told[name] for name in ("starttime", "endtime")]
            # Some versions write null, for jobs of other executors or of all.
            start, end = (None if at is None else datetime.fromtimestamp(at, UTC) for at in times)
            rule, inputs = str(told["rule"]), str(told["input"])
        except (ValueError, TypeError, KeyError, OverflowError, OSError):
            # A format of another version of Snakemake tells nothing.
            continue
        wall_s = None if start is None or end is None else (end - start).total_seconds()
        is_timed = wall_s is not None and wall_s > 0
        # A job that wrote several files has a record of each.
        jobs.setdefault(
            (rule, inputs, start or str(told.get("params"))),
            TracedTask(
                source=path,
                stage=stage_name(str(path), rule, asked, EXTENDED),
                trial=str(folder),
                name=str(path),
                wall_s=wall_s if is_timed else None,
                start=start,
                end=end,
                across_files=True,
                flaw=None if is_timed else NO_TIME,
            ),
        )
    if not jobs:
        raise UserError(f"{folder} has no record of a job: name a folder `.snakemake/metadata`")
    return [*jobs.values()]


def _task(path: Path, row: Row, repeat: int, asked: Asked) -> TracedTask:
    wall_s = row.read("s", float, "a number of seconds")
    column = asked.workers_column
    peak_mib = row.read("max_rss", float, "a number of MiB")
    return TracedTask(
        source=path,
        stage=stage_name(str(path), row.told("rule_name"), asked, EXTENDED),
        trial=f"line {repeat + 1}",
        name=str(path),
        wall_s=wall_s,
        cpus=row.read("threads", int, "a number of threads"),
        cpu_s=row.read("cpu_time", float, "a number of seconds"),
        peak_memory_bytes=None if peak_mib is None else round(peak_mib * MIB),
        workers=None if column is None else row.read_workers(column),
        is_trial=column is not None,
        across_files=True,
        flaw=None if wall_s else NO_TIME,
    )
