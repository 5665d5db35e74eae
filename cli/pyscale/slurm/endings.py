"""Causes of jobs that ended without a record, each with what to do."""

from __future__ import annotations

from dataclasses import replace

from pyscale.interruption import signal_name
from pyscale.processes import user_name
from pyscale.slurm.accounts import JobEnd
from pyscale.slurm.queue import ENDED, QueuedJob
from pyscale_stages.contract import TaskError
from pyscale_stages.errors import EXIT_FAILED, EXIT_RESOURCE_EXHAUSTED

AGAIN = "resume the run to try it again"
NOT_STARTED = 53
"""What slurmd gives as the signal that ended a job which it could not start."""
_IF_IT_HAPPENS_AGAIN = f"{AGAIN}, and report it to the cluster's administrators if it happens again"
_ENDINGS: dict[str, tuple[str, str]] = {
    "OUT_OF_MEMORY": (
        "OutOfMemory",
        "ran out of memory{on}{memory}: raise memory_gib in the site's file, or use more workers "
        "so that each holds less",
    ),
    "TIMEOUT": (
        "TimeLimit",
        "reached its time limit{on}{time}: raise time_min in the site's file, or use more workers "
        "so that each does less",
    ),
    "DEADLINE": (
        "TimeLimit",
        "could not end before its deadline{on}: set a later deadline, or none, in the site's file",
    ),
    "NODE_FAIL": (
        "NodeFail",
        f"lost its node{{named}}, which went down or stopped answering: {_IF_IT_HAPPENS_AGAIN}",
    ),
    "BOOT_FAIL": (
        "NodeFail",
        f"did not begin because its node{{named}} did not boot: {_IF_IT_HAPPENS_AGAIN}",
    ),
    "PREEMPTED": (
        "Preempted",
        f"was preempted{{on}}: {AGAIN}, or name a partition or qos without preemption in the "
        "site's file",
    ),
    "CANCELLED": ("Cancelled", f"was cancelled{{by}}{{since}}: {AGAIN}"),
    "REVOKED": (
        "Cancelled",
        "was revoked because another cluster of the federation began it: name a single cluster in "
        "the site's file",
    ),
}
"""By Slurm's state: kind and sentence, after the job's id, of what Slurm ended."""
_OF_TOO_LITTLE = {"OutOfMemory", "TimeLimit"}


def cause_of(job_id: str, job: QueuedJob | None, end: JobEnd | None) -> TaskError:
    """Why a task's job is gone and its task has no exit record.

    The controller may have told of it last by `job`; the accounts by `end`, which know more, and
    longer.
    """
    told = _told(job, end)
    by_slurm = ended_by_slurm(job_id, told)
    if by_slurm is not None:
        return by_slurm
    where = _on(told)
    kind = "Lost"
    if told.state == "FAILED":
        kind, how = _failed(job_id, told, where)
    elif told.state == "COMPLETED":
        how = (
            f"completed{where} without a record of its task's end: check that the run's folder is "
            "on a filesystem that the nodes share and can write to"
        )
    else:
        how = (
            f"vanished{where} without an end known to Slurm: {AGAIN}, and ask the cluster's "
            "administrators if that happens again"
        )
    return TaskError(kind=kind, message=f"job {job_id} {how}", exit_code=EXIT_FAILED)


def ended_by_slurm(job_id: str, told: JobEnd) -> TaskError | None:
    """Why Slurm ended a job or a step of one; None where it did not, or does not tell."""
    if told.state not in _ENDINGS:
        return None
    kind, sentence = _ENDINGS[told.state]
    exit_code = EXIT_RESOURCE_EXHAUSTED if kind in _OF_TOO_LITTLE else EXIT_FAILED
    where, memory, limit_s = _on(told), told.memory_bytes, told.time_limit_s
    how = sentence.format(
        on=where,
        named=where.removeprefix(" on"),
        since=where or " before it began",
        memory="" if memory is None else f", of {memory / 2**30:.3g} GiB that it asked for",
        time="" if limit_s is None else f", of {limit_s / 60:g} min",
        by="" if told.cancelled_by is None else f" by {user_name(told.cancelled_by)}",
    )
    return TaskError(kind=kind, message=f"job {job_id} {how}", exit_code=exit_code)


def _failed(job_id: str, end: JobEnd, where: str) -> tuple[str, str]:
    """Kind, and how a job failed that Slurm did not end."""
    log = (
        f"see submitit/{job_id}_0_log.err in the run's folder, where a setup line or a module of "
        "the site may have failed"
    )
    if end.exit_code is None:
        return "Failed", f"failed{where} without a recorded cause: {log}"
    if end.signal == NOT_STARTED:
        return "Failed", (
            f"could not be started{where}: check that the run's folder is on a filesystem that "
            "the nodes share and can write to"
        )
    if end.signal:
        return "Killed", f"was killed by {signal_name(end.signal)}{where}: {log}, and {AGAIN}"
    return "Failed", (f"failed with exit code {end.exit_code}{where} and no recorded cause: {log}")


def _told(job: QueuedJob | None, end: JobEnd | None) -> JobEnd:
    """How a job ended, by the accounts, or else by the queue; no state where neither says."""
    if end is None:
        end = JobEnd(state=job.state if job is not None and job.state in ENDED else "")
    return replace(end, node=end.node or (job.node if job is not None else ""))


def _on(end: JobEnd) -> str:
    return f" on {end.node}" if end.node else ""
