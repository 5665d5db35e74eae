"""Slurm's state of the jobs of a run that hold nodes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from pyscale.planning.plan import Plan
from pyscale.slurm.queue import QueuedJob, SlurmSilent, job_name, jobs_named, why_it_waits
from pyscale.store.allocations import Allocated
from pyscale.store.journal import Event
from pyscale_stages.contract import Record

PERIOD_S = 5.0
"""Least time between questions of one who watches: the controller is everybody's."""
WAITS = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}


@dataclass(frozen=True)
class Queue:
    """What Slurm said of the jobs of a run at one moment."""

    jobs: Mapping[str, QueuedJob] = field(default_factory=dict)
    complaint: str | None = None
    """Why it did not answer, where it did not."""


class RunQueue:
    """Asks Slurm of the jobs of a run, and not more often than it should."""

    def __init__(self, plan: Plan) -> None:
        assert plan.site is not None, "only Slurm is asked"
        self._name = job_name(plan.run_id)
        self._period_s = max(PERIOD_S, plan.site.poll_s)
        self._last: Queue | None = None
        self._answered_s = 0.0
        self._question: Future[Queue] | None = None
        self._thread = ThreadPoolExecutor(1)

    def now(self) -> Queue:
        """What Slurm says, or said some seconds ago: only the first answer is waited for.

        A controller that does not answer is given many seconds, and tasks are watched meanwhile.
        """
        if self._last is None:
            self._last = self._ask()
        elif self._question is None and time.monotonic() - self._answered_s > self._period_s:
            self._question = self._thread.submit(self._ask)
        elif self._question is not None and self._question.done():
            self._last = self._question.result()
            self._question = None
        return self._last

    def _ask(self) -> Queue:
        try:
            return Queue(jobs_named(self._name))
        except SlurmSilent as silent:
            return Queue(complaint=str(silent))
        finally:
            # The pause begins with the answer, so that a slow controller has it too.
            self._answered_s = time.monotonic()


class AllocationStatus(Record):
    """Where one allocation of a run stands."""

    job_id: str
    state: Literal["queued", "running", "ended", "unknown"]
    nodes: str = Field(description="Nodes that it has, or how many it asked for")
    why: str = Field("", description="Why it waits, in plain words")
    starts_utc: AwareDatetime | None = Field(
        None,
        description="When Slurm plans to start it, while it waits",
    )
    left_s: float | None = Field(None, description="Time to its limit, while it runs")
    waited_s: float | None = Field(
        None, description="Wait in the queue, since the one before ended where it waits for that"
    )


def allocation_states(
    jobs: Sequence[Allocated], events: Sequence[Event], queue: Queue | None
) -> tuple[AllocationStatus, ...]:
    """Where the allocations of a run stand."""
    waits_s = queue_waits_s(jobs, events)
    return tuple(_state(job, waits_s.get(job.job_id), queue) for job in jobs)


def queue_waits_s(jobs: Sequence[Allocated], events: Sequence[Event]) -> dict[str, float]:
    """Seconds until the pilot started, from submission or the end of the job that it waited for."""
    submitted = {job.job_id: job.submit_utc for job in jobs if job.after is None}
    behind = {job.after: job.job_id for job in jobs}
    waits_s: dict[str, float] = {}
    for event in events:
        if event.kind == "allocation_ended":
            free = {behind[one]: event.time_utc for one in event.job_ids if one in behind}
            submitted = free | submitted
        if event.kind != "pilot_started":
            continue
        for job_id in event.job_ids:
            # One that is put back into the queue starts twice; the first wait was for its nodes.
            if job_id in submitted and job_id not in waits_s:
                waits_s[job_id] = (event.time_utc - submitted[job_id]).total_seconds()
    return waits_s


def _state(job: Allocated, waited_s: float | None, queue: Queue | None) -> AllocationStatus:
    common = {"job_id": job.job_id, "waited_s": waited_s}
    if queue is None or queue.complaint is not None:
        return AllocationStatus(state="unknown", nodes=job.nodes, **common)
    known = queue.jobs.get(job.job_id)
    if known is None or not known.alive:
        return AllocationStatus(state="ended", nodes=known.node if known else job.nodes, **common)
    if known.state in WAITS:
        return AllocationStatus(
            state="queued",
            nodes=job.nodes,
            why=why_it_waits(known.reason),
            starts_utc=known.start,
            **common,
        )
    left_s = None
    if known.start is not None:
        ran_s = (datetime.now(UTC) - known.start).total_seconds()
        left_s = max(0.0, 60 * job.time_limit_min - ran_s)
    return AllocationStatus(state="running", nodes=known.node, left_s=left_s, **common)
