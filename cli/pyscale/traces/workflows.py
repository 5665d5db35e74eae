"""Traces of Nextflow and Snakemake: a process or a rule is a stage.

The tasks of a process in one trace are a trial. Of Snakemake a benchmark is a job, and each of its
lines one repeat; a folder of the metadata that it keeps of its own accord is a trial.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pyscale.errors import UserError
from pyscale.traces.tracefile import (
    NO_TIME,
    Asked,
    Layout,
    Row,
    TracedTask,
    bytes_of,
    moment,
    rows_of,
    seconds_of_words,
    stage_name,
)

NEXTFLOW = Layout(
    "\t",
    ("status", "realtime"),
    "write it with `nextflow run -with-trace`, with trace.sep as it is and status and realtime "
    "among trace.fields",
)
EXTENDED = "let Snakemake write it with --benchmark-extended"
SNAKEMAKE = Layout("\t", ("s", "h:m:s"), "give it as Snakemake's `benchmark:` wrote it")
MIB = 1024 * 1024
FLAWS = {"CACHED": "cached", "FAILED": "failed", "ABORTED": "cancelled"}
A_TIME = "a time, as 1m 30s, or in milliseconds"
A_SIZE = "a size, as 1.5 GB, or in bytes"
A_DATE = "a date, as 2026-03-17 11:42:24.123, or milliseconds since 1970"
_NAME = re.compile(r"(?P<process>\S+)(?: \(.*\))?")


def read_nextflow(path: Path, asked: Asked) -> list[TracedTask]:
    """Read a trace, raw or as it is printed for people."""
    return [_of_process(path, row, asked) for row in rows_of(path, NEXTFLOW)]


def _of_process(path: Path, row: Row, asked: Asked) -> TracedTask:
    status = row.told("status") or ""
    wall_s = row.read("realtime", _seconds, A_TIME)
    start, end = _times(row, wall_s)
    share = row.read("%cpu", lambda told: float(told.removesuffix("%")) / 100, "a share, as 97.5%")
    # A name alone need not be unlike another's.
    number = row.told("hash") or row.told("task_id") or row.where.rpartition(" ")[2]
    return TracedTask(
        source=path,
        stage=stage_name(row.where, _process(row), asked, "add name to trace.fields"),
        trial=str(path),
        name=f"{number} {row.told('name') or ''}".strip(),
        wall_s=wall_s,
        start=start,
        end=end,
        cpus=row.read("cpus", int, "a number of CPUs"),
        cpu_s=None if share is None or wall_s is None else share * wall_s,
        requested_memory_bytes=row.read("memory", bytes_of, A_SIZE),
        peak_memory_bytes=row.read("peak_rss", bytes_of, A_SIZE),
        node=row.told("hostname"),
        state=status,
        flaw=_flaw(row, status, wall_s),
    )


def _flaw(row: Row, status: str, wall_s: float | None) -> str | None:
    if status != "COMPLETED":
        return FLAWS.get(status, "not ended")
    if (row.told("attempt") or "1") != "1":
        return "tried again"
    return None if wall_s else NO_TIME


def _process(row: Row) -> str | None:
    """Name of the process; that of a task has a tag or number behind it."""
    name = _NAME.fullmatch(row.told("name") or "")
    return row.told("process") or (name["process"] if name else None)


def _times(row: Row, wall_s: float | None) -> tuple[datetime | None, datetime | None]:
    """When a task ran.

    The default trace tells when it was submitted and how long after that, rounded, it was seen to
    be complete.
    """
    in_milliseconds = partial(moment, per_second=1000)
    start = row.read("start", in_milliseconds, A_DATE)
    end = row.read("complete", in_milliseconds, A_DATE)
    if start and end:
        return start, end
    submit = row.read("submit", in_milliseconds, A_DATE)
    since_s = row.read("duration", _seconds, A_TIME)
    if submit is None or since_s is None or wall_s is None:
        return None, None
    # The earliest end that it may have had: what followed it must not seem to have run beside it.
    since_s = max(since_s - _rounding_s(row), 0.0)
    try:
        end = submit + timedelta(seconds=since_s)
        return max(submit, end - timedelta(seconds=wall_s)), end
    except OverflowError:
        raise UserError(
            f"{row.where}: submit, duration and realtime give a date beyond the calendar: "
            "correct or remove this line"
        ) from None


def _rounding_s(row: Row) -> float:
    """By how much a duration may have been rounded up; raw ones are not."""
    text = row.told("duration") or ""
    if text.isdecimal() or text.endswith("ms"):
        return 0.0
    # It is told in whole seconds from a minute on, and in tenths below.
    return 0.5 if _seconds(text) >= 60 else 0.05


def _seconds(text: str) -> float:
    return int(text) / 1000 if text.isdecimal() else seconds_of_words(text)


def read_snakemake(path: Path, asked: Asked) -> list[TracedTask]:
    """Read a benchmark file, plain or extended, or a folder of metadata.

    No line of a benchmark tells when a job ran, so how many ran at once must be given.
    """
    if path.is_dir():
        return _read_metadata(path, asked)
    rows = rows_of(path, SNAKEMAKE)
    return [_repeat(path, row, number, asked) for number, row in enumerate(rows, start=1)]


def _read_metadata(folder: Path, asked: Asked) -> list[TracedTask]:
    """Read what Snakemake keeps of each file that a rule wrote, in `.snakemake/metadata`.

    Unlike a benchmark it needs no word in the rule, and tells when a job ran. Rules that write no
    file have no record.
    """
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


def _repeat(path: Path, row: Row, number: int, asked: Asked) -> TracedTask:
    wall_s = row.read("s", float, "a number of seconds")
    peak_mib = row.read("max_rss", float, "a number of MiB")
    return TracedTask(
        source=path,
        stage=stage_name(str(path), row.told("rule_name"), asked, EXTENDED),
        trial=f"line {number}",
        name=str(path),
        wall_s=wall_s,
        cpus=row.read("threads", int, "a number of threads"),
        cpu_s=row.read("cpu_time", float, "a number of seconds"),
        peak_memory_bytes=None if peak_mib is None else round(peak_mib * MIB),
        across_files=True,
        flaw=None if wall_s else NO_TIME,
    )
