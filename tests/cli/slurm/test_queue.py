"""What squeue tells of jobs is understood; the texts are those of Slurm 22.05."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.slurm import queue
from refusals import assert_said, refused

RUNNING = "\x1e17\x1fRUNNING\x1fn1\x1f1795249404\x1fNone\n"
WAITING = "\x1e19\x1fPENDING\x1f\x1fN/A\x1fResources\n"
GANG = "\x1e18\x1fCOMPLETED\x1fn[1-2]\x1f1795249404\x1fNone\n"


def test_a_running_job_has_a_node_and_a_start_and_one_that_waits_a_reason():
    assert queue.parse("") == {}
    jobs = queue.parse(RUNNING + WAITING + GANG)
    assert jobs["17"] == queue.QueuedJob(
        job_id="17",
        state="RUNNING",
        reason="None",
        node="n1",
        start=datetime(2026, 11, 21, 8, 23, 24, tzinfo=UTC),
    )
    waiting = jobs["19"]
    assert (waiting.reason, waiting.node) == ("Resources", "")
    assert waiting.start is None
    assert jobs["18"].node == "n[1-2]"


TEXTS = st.text(st.characters(exclude_characters="\x1e\x1f\x00"))


@given(TEXTS)
def test_a_reason_may_hold_what_it_likes(reason):
    (job,) = queue.parse(f"\x1e5\x1fPENDING\x1f\x1fN/A\x1f{reason}.\n").values()
    assert job.reason == f"{reason}."


def test_an_answer_in_another_form_is_no_answer():
    with refused(queue.SlurmSilent):
        queue.parse("\x1e17\x1fRUNNING\n")


LIVES = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED")


@pytest.mark.parametrize("state", [*LIVES, *sorted(queue.ENDED)])
def test_a_job_lives_until_nothing_of_it_follows(state):
    (job,) = queue.parse(RUNNING.replace("RUNNING", state)).values()
    assert job.alive == (state in LIVES)


def test_a_reason_is_said_in_plain_words():
    for reason in (
        *("None", "Resources", "(Priority)", "JobHeldUser", "AssocGrpCPUMinutesLimit"),
        *("QOSMaxCpuPerUserLimit", "MaxMemPerLimit", "ReqNodeNotAvail, UnavailableNodes:n1"),
        "launch_failed_requeued_held",
        "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority",
        "Tuesday",
    ):
        assert_said(queue.why_it_waits(reason))
