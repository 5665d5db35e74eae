"""Traces of Nextflow: a process is a stage, and its tasks in one trace are a trial."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
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

LAYOUT = Layout(
    "\t",
    ("status", "realtime"),
    "write it with `nextflow run -with-trace`, with trace.sep as it is and status and realtime "
    "among trace.fields",
)
FLAWS = {"CACHED": "cached", "FAILED": "failed", "ABORTED": "cancelled"}
A_TIME = "a time, as 1m 30s, or in milliseconds"
A_SIZE = "a size, as 1.5 GB, or in bytes"
A_DATE = "a date, as 2026-03-17 11:42:24.123, or milliseconds since 1970"
_NAME = re.compile(r"(?P<process>\S+)(?: \(.*\))?")


def read_nextflow(path: Path, asked: Asked) -> list[TracedTask]:
    """Read a trace, raw or as it is printed for people."""
    return [_task(path, row, asked) for row in rows_of(path, LAYOUT)]


def _task(path: Path, row: Row, asked: Asked) -> TracedTask:
    status = row.told("status") or ""
    wall_s = row.read("realtime", _seconds, A_TIME)
    start, end = _times(row, wall_s)
    share = row.read("%cpu", lambda told: float(told.removesuffix("%")) / 100, "a share, as 97.5%")
    # A name alone need not be unlike another's.
    number = row.told("hash") or row.told("task_id") or row.where.rpartition(" ")[2]
    flaw, column = _flaw(row, status, wall_s), asked.workers_column
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
        workers=row.read_workers(column) if column is not None and flaw is None else None,
        is_trial=column is not None,
        flaw=flaw,
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
