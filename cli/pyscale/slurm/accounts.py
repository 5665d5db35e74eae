"""Ends of jobs by Slurm's accounting, which outlasts the controller's memory."""

from __future__ import annotations

import re
import signal
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from pyscale.slurm.queue import ENDED, SlurmSilent, answer_of

TIME_LIMIT_S = 20.0
"""The accounts are never needed: where they hang, sacct itself would wait 45 s."""
_FIELDS = (
    *("JobID", "State", "ExitCode", "NodeList"),
    *("ElapsedRaw", "TimelimitRaw", "ReqMem", "MaxRSS"),
)
_NOT_SET = 2.0**63
"""Numbers above it are Slurm's marks for none, which sacct shows while a job's record is new."""
_UNIT_BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class JobEnd:
    """How a job ended."""

    state: str
    cancelled_by: int | None = None
    """User id, where it was cancelled and Slurm says by whom."""
    exit_code: int | None = None
    """Absent where only the queue tells of the job."""
    signal: int = 0
    """Number of the signal that ended it; 0 is none."""
    node: str = ""
    """Nodes that it ran on, like n1 or n[1-2]; empty where it never began."""
    elapsed_s: int = 0
    time_limit_s: int | None = None
    """Absent where it had no limit of its own."""
    memory_bytes: int | None = None
    """What it asked for; absent where it did not, or where Slurm tells it for each core."""
    peak_memory_bytes: int | None = None
    """The most that one process of it had in memory when Slurm looked, where it did."""


def ends_of(job_ids: Collection[str]) -> dict[str, JobEnd]:
    """How jobs ended, by one call of sacct; nothing of those still alive or not in accounts."""
    try:
        return ask_accounts(job_ids)
    except SlurmSilent:
        return {}


def ask_accounts(job_ids: Collection[str]) -> dict[str, JobEnd]:
    """As `ends_of`, for those who want to know why nothing is known."""
    if not job_ids:
        return {}
    out = answer_of(
        *("sacct", "--noheader", "--parsable2", "--noconvert"),
        *(f"--format={','.join(_FIELDS)}", f"--jobs={','.join(sorted(job_ids))}"),
        time_limit_s=TIME_LIMIT_S,
    )
    return parse(out)


def parse(text: str) -> dict[str, JobEnd]:
    """Read what sacct wrote: each job, followed by its steps."""
    own: dict[str, JobEnd] = {}
    steps: dict[str, list[JobEnd]] = {}
    for line in text.splitlines():
        try:
            told = dict(zip(_FIELDS, line.split("|"), strict=True))
            end = _end(told)
            job_id, is_step, _ = told["JobID"].partition(".")
            if is_step:
                steps.setdefault(job_id, []).append(end)
            else:
                own[job_id] = end
        except ValueError:
            raise SlurmSilent(f"unexpected line of sacct: {line!r}") from None
    return {
        job_id: _with_steps(end, steps.get(job_id, ()))
        for job_id, end in own.items()
        if end.state in ENDED
    }


def _end(told: Mapping[str, str]) -> JobEnd:
    state, *by = told["State"].split(" by ")
    # Steps of a node that died have no code.
    code, _, number = (told["ExitCode"] or "0:0").partition(":")
    limit_min = told["TimelimitRaw"]
    return JobEnd(
        state=state,
        cancelled_by=int(by[0]) if by and by[0].isdigit() else None,
        exit_code=int(code),
        signal=int(number),
        node="" if told["NodeList"] == "None assigned" else told["NodeList"],
        elapsed_s=int(told["ElapsedRaw"]),
        # UNLIMITED, or Partition_Limit.
        time_limit_s=int(limit_min) * 60 if limit_min.isdigit() else None,
        memory_bytes=_bytes(told["ReqMem"]),
        peak_memory_bytes=_bytes(told["MaxRSS"]),
    )


def _with_steps(end: JobEnd, steps: Collection[JobEnd]) -> JobEnd:
    """Add what Slurm tells of a job's steps alone: their memory, and that it ran out."""
    peaks = [step.peak_memory_bytes for step in steps if step.peak_memory_bytes is not None]
    # A site without cgroups lets Slurm look at the memory and kill what holds too much.
    too_large = (
        end.signal == signal.SIGKILL
        and end.memory_bytes is not None
        and max(peaks, default=0) > end.memory_bytes
    )
    ran_out = too_large or any(step.state == "OUT_OF_MEMORY" for step in steps)
    state = "OUT_OF_MEMORY" if end.state == "FAILED" and ran_out else end.state
    return replace(end, state=state, peak_memory_bytes=max(peaks, default=None))


def _bytes(size: str) -> int | None:
    """Read 200M, or 200Mn of Slurm before 21.08; not 200Mc, which is for each core."""
    parts = re.fullmatch(r"([\d.]+)([KMGT]?)n?", size)
    if parts is None or float(parts[1]) >= _NOT_SET:
        return None
    return round(float(parts[1]) * _UNIT_BYTES[parts[2]])
