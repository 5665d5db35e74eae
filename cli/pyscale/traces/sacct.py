"""Traces of sacct: an array is a trial of its stage, and so is a job by itself."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from pyscale.analysis.workers import Interval
from pyscale.slurm.queue import ENDED
from pyscale.traces.tracefile import (
    NO_TIME,
    Asked,
    Layout,
    Row,
    TracedTask,
    bytes_of,
    moment,
    rows_of,
    seconds_of_clock,
    stage_name,
)

COMMAND = (
    "SLURM_TIME_FORMAT=%s sacct -P --duplicates --noconvert -o JobID,JobIDRaw,State,Submit,Start,"
    "End,ElapsedRaw,TotalCPU,AllocCPUS,NTasks,NodeList,ReqMem,MaxRSS,AllocTRES,JobName"
)
"""Asks for all that is read here, and for jobs that were tried again as often as they were. The
name is last, because it may hold a bar."""
LAYOUT = Layout("|", ("JobID", "State", "Start", "End"), f"write it with `{COMMAND}`", True)
AGAIN = "tried again"
MOST_USED = 1.05
"""Share of the time of all cores that may be used: both are rounded, and sampled apart."""
_INDEX = re.compile(r"\d{1,18}", re.ASCII)
A_TIME = "a time in seconds"
A_SIZE = "a size, as 2048K"
COUNTS = "a list of counts, as cpu=4,mem=8G,node=1,gres/gpu=2"
A_DATE = "a date, as 2026-03-17T11:42:24, or a time in seconds since 1970"


def read_sacct(path: Path, asked: Asked) -> list[TracedTask]:
    """Read what `sacct -P` wrote: jobs and elements of arrays, each followed by its steps."""
    jobs: dict[str, list[Row]] = defaultdict(list)
    steps: dict[str, list[Row]] = defaultdict(list)
    for row in rows_of(path, LAYOUT):
        job_id, is_step, _ = row.cells["JobID"].strip().partition(".")
        own = steps if is_step else jobs
        # Traces of overlapping times, put one behind the other, tell the same twice.
        if all(row.cells != other.cells for other in own[job_id]):
            own[job_id].append(row)
    latest = {job_id: rows[-1] for job_id, rows in jobs.items()}
    flaws = _flaws_of_arrays(latest, asked)
    tasks = [
        _task(path, job_id, rows, steps.get(job_id, ()), asked) for job_id, rows in jobs.items()
    ]
    return [replace(task, flaw=task.flaw or flaws.get(task.name)) for task in tasks]


def _array_of(job_id: str) -> str:
    """The array that a job is an element of; of other jobs their own id."""
    return job_id.partition("_")[0]


def _flaws_of_arrays(jobs: Mapping[str, Row], asked: Asked) -> dict[str, str]:
    """What is wrong with elements as they stand beside the others of their array."""
    arrays: dict[str, dict[str, Row]] = defaultdict(dict)
    for job_id, row in jobs.items():
        if "_" in job_id:
            arrays[_array_of(job_id)][job_id] = row
    flaws: dict[str, str] = {}
    for array, own in arrays.items():
        # What Slurm puts into the queue again is submitted later than the rest.
        submitted = {job_id: row.told("Submit") or "" for job_id, row in own.items()}
        first = min(submitted.values())
        flaws |= {job_id: AGAIN for job_id, time in submitted.items() if time != first}
        part = _part(array, own, gaps_matter=asked.workers is None)
        flaws |= dict.fromkeys(own, part) if part else {}
    return flaws


def _part(array: str, jobs: Mapping[str, Row], *, gaps_matter: bool) -> str | None:
    """Why the elements that are told are not all of their array; None where they may be."""
    raw_ids = {row.told("JobIDRaw") for row in jobs.values()}
    # Elements that never began are told nowhere. The last to begin has the array's own id.
    if raw_ids != {None} and array not in raw_ids:
        return "of an array that has not begun as a whole"
    indices = sorted(int(i) for i in (j.partition("_")[2] for j in jobs) if _INDEX.fullmatch(i))
    strides = {second - first for first, second in pairwise(indices)}
    if gaps_matter and (not indices or indices[0] > 1 or len(strides) > 1):
        return (
            "of an array with gaps or a late first index, as of a part that was submitted again; "
            "--workers takes it as it is"
        )
    return None


def _task(
    path: Path, job_id: str, rows: Sequence[Row], steps: Sequence[Row], asked: Asked
) -> TracedTask:
    # `sacct --duplicates` tells of every time that the job ran; the last one counts.
    row = rows[-1]
    state = (row.told("State") or "").partition(" ")[0]
    peaks = [_peak(step) for step in (row, *steps)]
    wall_s = _wall_s(row)
    cpus = row.read("AllocCPUS", int, "a number of CPUs")
    cpu_s = row.read("TotalCPU", seconds_of_clock, "a time, as 02:03.456")
    # Slurm has been seen to tell more than the time of all cores.
    if cpu_s and cpus and wall_s and cpu_s > MOST_USED * cpus * (wall_s + 1):
        cpu_s = None
    flaw = _flaw(rows, state, wall_s) or _flaw_of_steps(steps)
    if "+" in job_id:
        flaw = "a part of a job of several kinds of nodes"
    return TracedTask(
        source=path,
        stage=stage_name(row.where, row.told("JobName"), asked, f"use `{COMMAND}`"),
        trial=_array_of(job_id),
        name=job_id,
        wall_s=wall_s,
        start=row.read("Start", moment, A_DATE),
        end=row.read("End", moment, A_DATE),
        cpus=cpus,
        gpus=_gpus(row),
        cpu_s=cpu_s,
        requested_memory_bytes=_requested_bytes(row),
        peak_memory_bytes=max((peak for peak in peaks if peak is not None), default=None),
        node=row.told("NodeList"),
        state=state,
        flaw=flaw,
    )


def _peak(step: Row) -> int | None:
    """Peak memory of a step; Slurm writes 16.0E where it counted below zero."""
    if (step.told("MaxRSS") or "").endswith("E"):
        return None
    return step.read("MaxRSS", bytes_of, A_SIZE)


def _flaw(rows: Sequence[Row], state: str, wall_s: float | None) -> str | None:
    if state not in ENDED:
        return "not ended"
    if state == "CANCELLED":
        return "cancelled"
    if state != "COMPLETED":
        return "failed"
    if len(rows) > 1 or (rows[-1].told("Restarts") or "0") != "0":
        return AGAIN
    # What began and ended within one second has 0 s.
    return None if wall_s else NO_TIME


def _flaw_of_steps(steps: Sequence[Row]) -> str | None:
    """What in its steps shows that a job was no single worker."""
    counts = [step.read("NTasks", int, "a number of tasks") or 1 for step in steps]
    if max(counts, default=1) > 1:
        return f"of {max(counts)} processes"
    # The steps that a job called are numbered; those of Slurm's own run beside them.
    called = [step for step in steps if step.cells["JobID"].rpartition(".")[2].isdigit()]
    known = sorted(times for times in map(_times, called) if times is not None)
    if any(later[0] < earlier[1] for earlier, later in pairwise(known)):
        return "of steps that ran at once"
    return None


def _wall_s(row: Row) -> float | None:
    seconds = row.read("ElapsedRaw", float, A_TIME)
    if seconds is None and (times := _times(row)):
        seconds = (times[1] - times[0]).total_seconds()
    # Negative where the clock was set back meanwhile.
    return seconds if seconds is None or seconds >= 0 else None


def _times(row: Row) -> Interval | None:
    """Start and end, to be compared."""
    start, end = row.read("Start", moment, A_DATE), row.read("End", moment, A_DATE)
    return (start, end) if start and end else None


def _requested_bytes(row: Row) -> int | None:
    text = row.told("ReqMem")
    if text is None:
        return None
    # Before Slurm 21.08 it was told for each node or for each core.
    size = row.read("ReqMem", lambda told: bytes_of(told.rstrip("nc")), A_SIZE)
    if size is not None and text.endswith("c"):
        return size * (row.read("AllocCPUS", int, "a number of CPUs") or 1)
    return size or None


def _gpus(row: Row) -> int | None:
    """GPUs that a job had; 0 where other resources are told and they are not."""
    resources = row.told("AllocTRES")
    if resources is None:
        return None
    count = dict(part.partition("=")[::2] for part in resources.split(",")).get("gres/gpu", "0")
    return row.read("AllocTRES", lambda _: int(count), COUNTS)
