"""State of a run's allocations: what Slurm says of them, how long they waited and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from pyscale.runqueue import WAITS, Queue
from pyscale.slurm.queue import job_of, why_it_waits
from pyscale.store.allocations import Allocated
from pyscale.store.journal import Event
from pyscale_stages.contract import Record


class AllocationStatus(Record):
    """Where one allocation of a run stands."""

    job_id: str
    state: Literal["queued", "running", "ended", "unknown"]
    nodes: str = Field(description="Nodes that it has, or how many it asked for")
    why: str = Field("", description="Why it waits, in plain words")
    left_s: float | None = Field(None, description="Time to its limit, while it runs")
    waited_s: float | None = Field(
        None, description="Wait in the queue; absent where it waited for another allocation too"
    )


def allocation_states(
    jobs: Sequence[Allocated], events: Sequence[Event], queue: Queue | None
) -> tuple[AllocationStatus, ...]:
    """Where the allocations of a run stand.

    Parameters
    ----------
    jobs : sequence of Allocated
    events : sequence of Event
        All of the run's journal.
    queue : Queue or None
        What Slurm says; None where it was not asked.
    """
    waits_s = queue_waits_s(jobs, events)
    return tuple(_state(job, waits_s.get(job.job_id), queue) for job in jobs)


def queue_waits_s(jobs: Sequence[Allocated], events: Sequence[Event]) -> dict[str, float]:
    """Seconds from submission to the start of the pilot, of allocations that waited for Slurm."""
    submitted = {job.job_id: job.submit_utc for job in jobs if job.after is None}
    waits_s: dict[str, float] = {}
    for event in events:
        if event.kind != "pilot_started":
            continue
        for job_id in event.job_ids:
            # One that is put back into the queue starts twice; the first wait was for its nodes.
            if job_id in submitted and job_id not in waits_s:
                waits_s[job_id] = (event.time_utc - submitted[job_id]).total_seconds()
    return waits_s


def open_allocations(events: Sequence[Event]) -> set[str]:
    """Allocations that the journal knows as submitted and not as ended."""
    found: set[str] = set()
    for event in events:
        if event.kind == "allocation_submitted":
            found |= set(event.job_ids)
        elif event.kind == "allocation_ended":
            found -= set(event.job_ids)
        elif event.kind in {"run_finished", "run_cancelled", "run_stopped"}:
            found.clear()
    return found


def _state(job: Allocated, waited_s: float | None, queue: Queue | None) -> AllocationStatus:
    common = {"job_id": job.job_id, "waited_s": waited_s}
    if queue is None or queue.complaint is not None:
        return AllocationStatus(state="unknown", nodes=job.nodes, **common)
    known = job_of(queue.jobs, job.job_id)
    if known is None or not known.alive:
        return AllocationStatus(state="ended", nodes=known.node if known else job.nodes, **common)
    if known.state in WAITS:
        return AllocationStatus(
            state="queued", nodes=job.nodes, why=why_it_waits(known.reason), **common
        )
    left_s = None
    if known.start is not None:
        ran_s = (datetime.now(UTC) - known.start).total_seconds()
        left_s = max(0.0, 60 * job.time_limit_min - ran_s)
    return AllocationStatus(state="running", nodes=known.node, left_s=left_s, **common)
