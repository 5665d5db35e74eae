"""The jobs of one name, as the controller sees them: asked, cancelled, why they wait or ended."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from pyscale.slurm import commands
from pyscale.slurm.commands import ask

TIME_LIMIT_S = 20.0
"""Longer than Slurm's own patience of 10 s, so that its complaint is heard; a site may have set
that to minutes, and whoever polls asks again anyway."""
ENDED = frozenset(
    (
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED"),
        *("NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
    )
)
"""States after which nothing of a job follows."""
# Characters that mark where a job and where a field begins: a reason may hold every other.
_JOB = "\x1e"
_FIELD = "\x1f"
_FORMAT = _JOB + _FIELD.join(["%i", "%T", "%N", "%S", "%r"])


def job_name(run_id: str) -> str:
    """Slurm's name of all jobs of a run, by which they are found."""
    return f"pyscale-{run_id}"


class SlurmSilent(Exception):  # noqa: N818 - what happened, not a defect
    """Slurm does not answer, or not what it was asked; what it says of it."""


@dataclass(frozen=True)
class QueuedJob:
    """A job that the controller knows."""

    job_id: str
    state: str
    reason: str
    """Why it waits or why it ended, in Slurm's word; `None` is one of them."""
    node: str
    """Nodes that it runs or ran on, like n1 or n[1-2]; empty where it has none."""
    start: datetime | None
    """When it began, or is expected to; absent where that is not known."""

    @property
    def alive(self) -> bool:
        """Whether it waits, runs, or is about to end or to begin again."""
        return self.state not in ENDED


def jobs_named(name: str) -> dict[str, QueuedJob]:
    """Jobs of this user that have a name, by their id; ended ones some minutes long."""
    out = answer_of(
        *("squeue", "--noheader", "--all", "--states=all"),
        *(f"--user={os.getuid()}", f"--name={name}", f"--format={_FORMAT}"),
        time_limit_s=TIME_LIMIT_S,
        # Seconds since 1970 know no time zone.
        variables={"SLURM_TIME_FORMAT": "%s"},
    )
    return parse(out)


def answer_of(
    program: str,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    time_limit_s: float = commands.TIME_LIMIT_S,
) -> str:
    """What a command of Slurm writes; SlurmSilent where it complains."""
    answer = ask(program, *arguments, time_limit_s=time_limit_s, variables=variables)
    if answer.code != 0:
        raise SlurmSilent(f"{program}: {answer.complaint}")
    return answer.out


def parse(text: str) -> dict[str, QueuedJob]:
    """Read what squeue wrote of jobs."""
    jobs = {}
    for line in text.split(_JOB)[1:]:
        try:
            job_id, state, node, start, reason = line.removesuffix("\n").split(_FIELD)
            jobs[job_id] = QueuedJob(
                job_id=job_id,
                state=state,
                reason=reason,
                node=node,
                start=datetime.fromtimestamp(int(start), UTC) if start.isdigit() else None,
            )
        except ValueError:
            raise SlurmSilent(f"unexpected line of squeue: {line!r}") from None
    return jobs


@dataclass(frozen=True)
class JobEnd:
    """How a job ended, by Slurm's accounting, which outlasts the controller's memory."""

    state: str
    node: str
    """Nodes that it ran on, like n1 or n[1-2]; empty where it never began."""
    cancelled_by: int | None
    """User id, where it was cancelled and Slurm says by whom."""


def ends_of(job_ids: Collection[str]) -> dict[str, JobEnd]:
    """How jobs ended, by one call of sacct; nothing of those still alive or not in accounts."""
    ends = {}
    with suppress(SlurmSilent, ValueError):
        out = answer_of(
            *("sacct", "--noheader", "--parsable2", "--allocations"),
            *("--format=JobID,State,NodeList", f"--jobs={','.join(sorted(job_ids))}"),
            # The accounts are never needed: where they hang, sacct itself would wait 45 s.
            time_limit_s=TIME_LIMIT_S,
        )
        for line in out.splitlines():
            job_id, told, node = line.split("|")
            state, _, by = told.partition(" by ")
            if state in ENDED:
                where = "" if node == "None assigned" else node
                ends[job_id] = JobEnd(state, where, int(by) if by.isdigit() else None)
    return ends


def cancel(job_ids: Collection[str]) -> None:
    """Cancel jobs; returns before they have ended.

    By id alone: told a name too, scancel refuses ended jobs.
    """
    answer_of("scancel", *sorted(job_ids))


_WORDS = {
    "": "not yet scheduled by Slurm",
    "None": "not yet scheduled by Slurm",
    "Resources": "waiting for free nodes",
    "Priority": "waiting behind jobs of higher priority",
    "Dependency": "waiting for another job to end",
    "JobHeldUser": "held by its user (release it with scontrol release)",
    "JobHeldAdmin": "held by an administrator",
}
"""What most jobs wait for; Slurm's other reasons are words too."""


def why_it_waits(reason: str) -> str:
    """Say Slurm's reason in plain words; what is not known by heart keeps Slurm's own."""
    return _WORDS.get(reason, f"waiting; Slurm's reason: {reason}")
