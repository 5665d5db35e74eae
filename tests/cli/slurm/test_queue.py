"""What squeue tells of jobs is understood; the texts are those of Slurm 22.05."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.slurm import queue
from refusals import refused

RUNNING = "\x1e17_0\x1fRUNNING\x1fn1\x1f1795249404\x1fNone\x1ft 1/win|dows\n"
WAITING = "\x1e17_[3,8-9%8]\x1fPENDING\x1f\x1fN/A\x1fResources\x1f(null)\n"
GANG = "\x1e18\x1fCOMPLETED\x1fn[1-2]\x1f1795249404\x1fNone\x1f\n"


def test_each_element_of_an_array_is_a_job_and_a_running_one_has_a_node_and_a_start():
    assert queue.parse("", "pyscale-a") == {}
    jobs = queue.parse(RUNNING + WAITING + GANG, "pyscale-a")
    assert list(jobs) == ["17_0", "17_3", "17_8", "17_9", "18"]
    assert jobs["17_0"] == queue.QueuedJob(
        job_id="17_0",
        name="pyscale-a",
        state="RUNNING",
        reason="None",
        node="n1",
        start=datetime(2026, 11, 21, 8, 23, 24, tzinfo=UTC),
        comment="t 1/win|dows",
    )
    waiting = jobs["17_9"]
    assert (waiting.job_id, waiting.reason) == ("17_9", "Resources")
    assert (waiting.node, waiting.start, waiting.comment) == ("", None, "")
    assert jobs["18"].node == "n[1-2]"


TEXTS = st.text(st.characters(exclude_characters="\x1e\x1f\x00"))


@given(TEXTS, TEXTS)
def test_reasons_and_comments_may_hold_what_they_like(reason, comment):
    (job,) = queue.parse(f"\x1e5\x1fPENDING\x1f\x1fN/A\x1f{reason}\x1f{comment}.\n", "a").values()
    assert (job.reason, job.comment) == (reason, f"{comment}.")


@pytest.mark.parametrize("text", ["\x1e17\x1fRUNNING\n", WAITING.replace("8-9", "...")])
def test_an_answer_in_another_form_is_no_answer(text):
    with refused(queue.SlurmSilent):
        queue.parse(text, "pyscale-a")


LIVES = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED")


@pytest.mark.parametrize("state", [*LIVES, *sorted(queue.ENDED)])
def test_a_job_lives_until_nothing_of_it_follows(state):
    (job,) = queue.parse(RUNNING.replace("RUNNING", state), "a").values()
    assert job.alive == (state in LIVES)


def test_elements_that_slurm_forgot_are_known_by_their_array():
    jobs = queue.parse(RUNNING + GANG.replace("18", "17"), "a")
    assert queue.job_of(jobs, "17_5").job_id == "17"
    assert queue.job_of(jobs, "17_0") == jobs["17_0"]
    assert queue.job_of(jobs, "19") is None
    assert [queue.array_of(job_id) for job_id in ("17", "17_3")] == ["17", "17"]


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("17", ["17"]),
        ("17_3", ["17_3"]),
        ("17_[3]", ["17_3"]),
        ("17_[0-2%2]", ["17_0", "17_1", "17_2"]),
        ("17_[1,5-6]", ["17_1", "17_5", "17_6"]),
        ("17_[20-60:20]", ["17_20", "17_40", "17_60"]),
    ],
)
def test_an_expression_means_its_elements(told, meant):
    assert queue.elements(told) == meant


PARTS = st.tuples(st.integers(0, 999), st.integers(0, 40), st.integers(1, 9))


@given(st.lists(PARTS, min_size=1, max_size=20), st.sampled_from(["", "%1", "%800"]))
def test_every_element_of_every_part_is_found(parts, at_once):
    told = ",".join(f"{first}-{first + more * step}:{step}" for first, more, step in parts)
    meant = [first + i * step for first, more, step in parts for i in range(more + 1)]
    assert queue.elements(f"8_[{told}{at_once}]") == [f"8_{index}" for index in meant]


def test_an_expression_that_was_cut_short_is_refused():
    with pytest.raises(ValueError, match="invalid literal"):
        queue.elements("17_[1,3,5,...]")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("None", "not yet scheduled by Slurm"),
        ("Resources", "waiting for free nodes"),
        ("(Priority)", "waiting behind jobs of higher priority"),
        ("JobHeldUser", "held by its user (release it with scontrol release)"),
        ("JobArrayTaskLimit", "waiting for an earlier task of its array"),
        ("AssocGrpCPUMinutesLimit", "a limit of the account is reached (AssocGrpCPUMinutesLimit)"),
        ("QOSMaxCpuPerUserLimit", "a limit of the QOS is reached (QOSMaxCpuPerUserLimit)"),
        ("MaxMemPerLimit", "a limit of the site is reached (MaxMemPerLimit)"),
        (
            "ReqNodeNotAvail, UnavailableNodes:n1",
            "a node that it needs is not available (ReqNodeNotAvail, UnavailableNodes:n1)",
        ),
        (
            "launch_failed_requeued_held",
            "held by Slurm after a failed start (release it with scontrol release) "
            "(launch failed requeued held)",
        ),
        (
            "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority",
            "all nodes that fit are down or reserved (Nodes required for job are "
            "DOWN, DRAINED or reserved for jobs in higher priority)",
        ),
        ("Tuesday", "waiting; Slurm's reason: Tuesday"),
    ],
)
def test_a_reason_is_said_in_plain_words(reason, words):
    assert queue.why_it_waits(reason) == words
