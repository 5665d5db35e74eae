"""Where a task is: its records first, Slurm's word second."""

import pytest

from pyscale.runqueue import CLOCK_GRACE_S, Queue, place_of
from pyscale.slurm.queue import QueuedJob

NOW_S = 1_800_000_000.0
LONG_AGO_S = NOW_S - 10 * CLOCK_GRACE_S


def said(state, reason="None", node="n1"):
    """A Slurm that says this of the job 17."""
    job = QueuedJob(
        job_id="17", name="run", state=state, reason=reason, node=node, start=None, comment=""
    )
    return Queue(NOW_S, {"17": job})


def place(queue, *, launched=False, written_s=LONG_AGO_S, job_id="17", attended=True):
    return place_of(
        "launched" if launched else "ordered",
        written_s,
        job_id=job_id,
        queue=queue,
        attended=attended,
    )


@pytest.mark.parametrize("queue", [None, Queue(NOW_S, complaint="no answer")])
def test_without_slurm_the_records_alone_tell(queue):
    assert place(queue).state == "queued"
    assert place(queue, launched=True).state == "running"


@pytest.mark.parametrize(
    ("state", "launched", "expected"),
    [
        ("PENDING", False, "queued"),
        ("REQUEUED", False, "queued"),
        ("CONFIGURING", False, "starting"),
        ("RUNNING", False, "starting"),
        ("RUNNING", True, "running"),
        ("SUSPENDED", True, "running"),
        ("COMPLETING", True, "running"),
        ("COMPLETING", False, "gone"),
        ("CANCELLED", False, "gone"),
        ("NODE_FAIL", True, "gone"),
    ],
)
def test_slurm_tells_what_records_do_not(state, launched, expected):
    assert place(said(state), launched=launched).state == expected


def test_a_task_that_slurm_put_back_waits_although_it_was_launched():
    back = place(said("PENDING", "BeginTime"), launched=True)
    assert back.state == "queued"
    assert back.why == "requeued; waiting for its time to begin"
    # A launch after Slurm was asked wins.
    assert place(said("PENDING"), launched=True, written_s=NOW_S + 1).state == "running"


def test_a_job_that_slurm_forgot_is_gone():
    gone = place(Queue(NOW_S), launched=True)
    assert gone.state == "gone"
    assert gone.why.endswith("waiting for its record")
    # Nobody finds out an end where no pyscale lives.
    assert place(Queue(NOW_S), attended=False).why.endswith("resume the run to record its end")
    # It was submitted after Slurm was asked, or by a clock that differs by seconds.
    for written_s in (NOW_S + 1, NOW_S - CLOCK_GRACE_S / 2):
        assert place(Queue(NOW_S), written_s=written_s).state == "queued"
