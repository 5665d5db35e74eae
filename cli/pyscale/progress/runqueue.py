"""Slurm's state of a run's jobs, and its meaning for tasks and for allocations."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from pyscale.planning.plan import Plan
from pyscale.slurm.accounts import ends_of
from pyscale.slurm.endings import cause_of
from pyscale.slurm.queue import QueuedJob, SlurmSilent, job_name, jobs_named, why_it_waits
from pyscale.store.allocations import Allocated
from pyscale.store.journal import Event
from pyscale_stages.contract import Record

PERIOD_S = 5.0
"""Least time between questions of one who watches: the controller is everybody's."""
CLOCK_GRACE_S = 10.0
"""How far the clocks of this machine and of the file system may differ."""

TaskState = Literal["waiting", "queued", "starting", "running", "gone", "done", "failed"]
"""Waiting: not ordered yet. Starting: Slurm runs its job, and its process is not there yet.
Gone: its job has ended or is not known, and left no word of how the task ended."""
WAITS = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}


@dataclass(frozen=True)
class Queue:
    """What Slurm said of the jobs of a run at one moment."""

    asked_s: float
    """When it was asked, in seconds since 1970."""
    jobs: Mapping[str, QueuedJob] = field(default_factory=dict)
    complaint: str | None = None
    """Why it did not answer, where it did not."""

    def came_later(self, written_s: float) -> bool:
        """Whether a record may be too young for Slurm to have known of it when it was asked."""
        return written_s > self.asked_s - CLOCK_GRACE_S

    def why_gone(self, job_ids: Collection[str]) -> dict[str, str]:
        """Why jobs have ended, by the controller's word and the accounts', where there are any."""
        ends = ends_of(job_ids)
        return {
            job_id: cause_of(job_id, self.jobs.get(job_id), ends.get(job_id)).message
            for job_id in job_ids
        }


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
        asked_s = time.time()
        try:
            return Queue(asked_s, jobs_named(self._name))
        except SlurmSilent as silent:
            return Queue(asked_s, complaint=str(silent))
        finally:
            # The pause begins with the answer, so that a slow controller has it too.
            self._answered_s = time.monotonic()


@dataclass(frozen=True)
class Place:
    """Where a task that has not ended is."""

    state: TaskState
    why: str = ""
    """In plain words, where there is something to say."""
    node: str | None = None
    """As Slurm says, where it does."""


def place_of(
    recorded: str, written_s: float, *, job_id: str | None, queue: Queue | None, attended: bool
) -> Place:
    """Where a task is of which records tell so much: the names that `taskstatus` has for it.

    Records win over Slurm's word: it may be late, and is nothing where Slurm does not answer. The
    queue was asked before the records were read. `attended`: a living pyscale waits for the task.
    """
    match recorded:
        case "waiting" | "done" | "failed":
            return Place(recorded)
    launched = recorded == "launched"
    by_records = Place("running" if launched else "queued")
    if queue is None or queue.complaint is not None:
        return by_records
    if job_id is None and launched:
        return by_records
    if job_id is None:
        if attended:
            return Place("queued", "being submitted")
        return Place("gone", "no job of it is recorded; resume the run to start it again")
    later = "waiting for its record" if attended else "resume the run to record its end"
    job = queue.jobs.get(job_id)
    if job is None:
        if queue.came_later(written_s):
            return by_records
        return Place("gone", f"Slurm no longer knows its job; {later}")
    node = job.node or None
    if not job.alive:
        return Place("gone", f"Slurm says {job.state}; {later}", node)
    if job.state in WAITS:
        if not launched:
            return Place("queued", why_it_waits(job.reason))
        if queue.came_later(written_s):
            return by_records
        return Place("queued", f"requeued; {why_it_waits(job.reason)}")
    if job.state == "COMPLETING" and not launched:
        return Place("gone", f"Slurm says {job.state}; {later}", node)
    why = "" if job.state == "RUNNING" else f"Slurm says {job.state}"
    return Place("running" if launched else "starting", why, node)


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
