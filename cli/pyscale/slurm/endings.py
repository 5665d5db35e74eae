"""Causes of jobs that ended without a record, each with what to do."""

from __future__ import annotations

import pwd

from pyscale.processes import signal_name
from pyscale.slurm.accounts import JobEnd
from pyscale.slurm.queue import ENDED, QueuedJob
from pyscale_stages.contract import TaskError
from pyscale_stages.errors import EXIT_FAILED, EXIT_RESOURCE_EXHAUSTED

AGAIN = "resume the run to try it again"
NOT_STARTED = 53
"""What slurmd gives as the signal that ended a job which it could not start."""
_IF_IT_HAPPENS_AGAIN = f"{AGAIN}, and report it to the cluster's administrators if it happens again"
_ENDINGS: dict[str, tuple[str, str, int]] = {
    "OUT_OF_MEMORY": (
        "OutOfMemory",
        "ran out of memory{on}{memory}: raise memory_gib in the site's file, or use more workers "
        "so that each holds less",
        EXIT_RESOURCE_EXHAUSTED,
    ),
    "TIMEOUT": (
        "TimeLimit",
        "reached its time limit{on}{time}: raise time_min in the site's file, or use more workers "
        "so that each does less",
        EXIT_RESOURCE_EXHAUSTED,
    ),
    "DEADLINE": (
        "TimeLimit",
        "could not end before its deadline{on}: set a later deadline, or none, in the site's file",
        EXIT_RESOURCE_EXHAUSTED,
    ),
    "NODE_FAIL": (
        "NodeFail",
        f"lost its node{{named}}, which went down or stopped answering: {_IF_IT_HAPPENS_AGAIN}",
        EXIT_FAILED,
    ),
    "BOOT_FAIL": (
        "NodeFail",
        f"did not begin because its node{{named}} did not boot: {_IF_IT_HAPPENS_AGAIN}",
        EXIT_FAILED,
    ),
    "PREEMPTED": (
        "Preempted",
        f"was preempted{{on}}: {AGAIN}, or name a partition or qos without preemption in the "
        "site's file",
        EXIT_FAILED,
    ),
    "CANCELLED": ("Cancelled", f"was cancelled{{by}}{{since}}: {AGAIN}", EXIT_FAILED),
    "REVOKED": (
        "Cancelled",
        "was revoked because another cluster of the federation began it: name a single cluster in "
        "the site's file",
        EXIT_FAILED,
    ),
}
"""By Slurm's state: kind, sentence after the job's id, and exit code of what Slurm ended."""


def cause_of(job_id: str, job: QueuedJob | None, end: JobEnd | None, node: str = "") -> TaskError:
    """Why a task's job is gone and its task has no exit record.

    The controller may have told of it last by `job`; the accounts by `end`, which know more, and
    longer. `node`: where the task ran, of all that its job may have; empty where not known.
    """
    by_slurm = ended_by_slurm(job_id, job, end, node)
    if by_slurm is not None:
        return by_slurm
    state = _state(job, end)
    where = _on(job, end, node)
    if state == "FAILED":
        return _failed(job_id, end, where)
    if state == "COMPLETED":
        return _error(
            "Lost",
            f"job {job_id} completed{where} without a record of its task's end: check that the "
            "run's folder is on a filesystem that the nodes share and can write to",
        )
    return _error(
        "Lost",
        f"job {job_id} vanished{where} without an end known to Slurm, as when one element of an "
        f"array is cancelled while it waits: {AGAIN}, and ask the cluster's administrators if "
        "that happens again",
    )


def ended_by_slurm(
    job_id: str, job: QueuedJob | None, end: JobEnd | None, node: str = ""
) -> TaskError | None:
    """Why Slurm ended a job; None where it did not, or does not tell."""
    where = _on(job, end, node)
    known = _ENDINGS.get(_state(job, end) or "")
    if known is None:
        return None
    kind, sentence, exit_code = known
    told = {
        "on": where,
        "named": where.removeprefix(" on"),
        "since": where or " before it began",
        "memory": _of_memory(end),
        "time": _of_time(end),
        "by": _by(end),
    }
    return _error(kind, f"job {job_id} {sentence.format(**told)}", exit_code)


def _failed(job_id: str, end: JobEnd | None, where: str) -> TaskError:
    log = (
        f"see submitit/{job_id}_0_log.err in the run's folder, where a setup line or a module of "
        "the site may have failed"
    )
    if end is None:
        return _error("Failed", f"job {job_id} failed{where} without a recorded cause: {log}")
    if end.signal == NOT_STARTED:
        return _error(
            "Failed",
            f"job {job_id} could not be started{where}: check that the run's folder is on a "
            "filesystem that the nodes share and can write to",
        )
    if end.signal:
        name = signal_name(end.signal)
        return _error("Killed", f"job {job_id} was killed by {name}{where}: {log}, and {AGAIN}")
    return _error(
        "Failed",
        f"job {job_id} failed with exit code {end.exit_code}{where} and no recorded cause: {log}",
    )


def _error(kind: str, message: str, exit_code: int = EXIT_FAILED) -> TaskError:
    return TaskError(kind=kind, message=message, exit_code=exit_code)


def _state(job: QueuedJob | None, end: JobEnd | None) -> str | None:
    if end is not None:
        return end.state
    return job.state if job is not None and job.state in ENDED else None


def _on(job: QueuedJob | None, end: JobEnd | None, node: str) -> str:
    node = node or (end.node if end is not None else "") or (job.node if job is not None else "")
    return f" on {node}" if node else ""


def _of_memory(end: JobEnd | None) -> str:
    if end is None or end.memory_bytes is None:
        return ""
    return f", of {end.memory_bytes / 2**30:.3g} GiB that it asked for"


def _of_time(end: JobEnd | None) -> str:
    if end is None or end.time_limit_s is None:
        return ""
    return f", of {end.time_limit_s / 60:g} min"


def _by(end: JobEnd | None) -> str:
    if end is None or end.cancelled_by is None:
        return ""
    try:
        return f" by {pwd.getpwuid(end.cancelled_by).pw_name}"
    except KeyError:
        return f" by user {end.cancelled_by}"
