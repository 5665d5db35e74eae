"""Where the jobs of a run are that hold nodes, by what Slurm says of them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pyscale.progress.status import Queue, allocation_states, queue_waits_s
from pyscale.slurm.queue import QueuedJob
from pyscale.store.allocations import Allocated
from pyscale.store.journal import Event

NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def allocated(job_id, after=None):
    return Allocated(
        job_id=job_id,
        nodes="1-2",
        cores=4,
        time_limit_min=60,
        submit_utc=NOON,
        after=after,
        entries=("segment",),
    )


def event(kind, job_id="", seconds=0.0):
    time_utc = NOON + timedelta(seconds=seconds)
    return Event(time_utc=time_utc, kind=kind, job_ids=(job_id,) if job_id else ())


def queued(job_id, state, reason="None"):
    start = datetime.now(UTC) - timedelta(minutes=20)
    return QueuedJob(
        job_id=job_id,
        state=state,
        reason=reason,
        node="n[1-2]" if state == "RUNNING" else "",
        start=start if state == "RUNNING" else None,
    )


def asked(*jobs, complaint=None):
    return Queue({job.job_id: job for job in jobs}, complaint)


def test_the_wait_ends_when_the_pilot_starts():
    events = [event("pilot_started", "17", 90), event("pilot_started", "17", 500)]
    assert queue_waits_s([allocated("17")], events) == {"17": 90}
    # One that waits for another waits for the queue alone from the end of that.
    chain = [allocated("17"), allocated("18", after="17")]
    later = [event("pilot_started", "18", 90)]
    assert queue_waits_s(chain, later) == {}
    assert queue_waits_s(chain, [event("allocation_ended", "17", 60), *later]) == {"18": 30}


@pytest.mark.parametrize(
    ("queue", "state", "nodes"),
    [
        (asked(queued("17", "RUNNING")), "running", "n[1-2]"),
        (asked(queued("17", "PENDING", "Resources")), "queued", "1-2"),
        (asked(queued("17", "COMPLETED")), "ended", ""),
        (asked(), "ended", "1-2"),
        (asked(complaint="squeue: away"), "unknown", "1-2"),
        (None, "unknown", "1-2"),
    ],
    ids=["running", "waiting", "ended", "forgotten", "silent", "not asked"],
)
def test_slurm_says_where_it_stands(queue, state, nodes):
    (status,) = allocation_states([allocated("17")], [], queue)
    assert (status.state, status.nodes) == (state, nodes)


def test_the_start_that_slurm_expects_is_told_while_the_job_waits():
    start = datetime(2026, 3, 17, 12, tzinfo=UTC)
    waiting = replace(queued("17", "PENDING", "Resources"), start=start)
    (status,) = allocation_states([allocated("17")], [], asked(waiting))
    assert (status.starts_utc, status.left_s) == (start, None)


def test_the_time_left_is_that_of_the_job():
    (status,) = allocation_states([allocated("17")], [], asked(queued("17", "RUNNING")))
    assert status.left_s == pytest.approx(40 * 60, abs=60)
