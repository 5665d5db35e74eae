"""What squeue tells of jobs is understood; the texts are those of Slurm 22.05."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.slurm.queue import ENDED, QueuedJob, SlurmSilent, job_of, parse

RUNNING = "\x1e17_0\x1fRUNNING\x1fn1\x1f1795249404\x1fNone\x1ft 1/win|dows\n"
WAITING = "\x1e17_[3,8-9%8]\x1fPENDING\x1f\x1fN/A\x1fResources\x1f(null)\n"
GANG = "\x1e18\x1fCOMPLETED\x1fn[1-2]\x1f1795249404\x1fNone\x1f\n"


def test_a_running_job_has_a_node_and_a_start() -> None:
    assert parse(RUNNING, "pyscale-a") == {
        "17_0": QueuedJob(
            job_id="17_0",
            name="pyscale-a",
            state="RUNNING",
            reason="None",
            node="n1",
            start=datetime(2026, 11, 21, 8, 23, 24, tzinfo=UTC),
            comment="t 1/win|dows",
        )
    }


def test_each_waiting_element_of_an_array_is_a_job() -> None:
    jobs = parse(RUNNING + WAITING + GANG, "pyscale-a")
    assert list(jobs) == ["17_0", "17_3", "17_8", "17_9", "18"]
    waiting = jobs["17_9"]
    assert (waiting.job_id, waiting.reason) == ("17_9", "Resources")
    assert (waiting.node, waiting.start, waiting.comment) == ("", None, "")
    assert jobs["18"].node == "n[1-2]"


def test_no_jobs_are_no_jobs() -> None:
    assert parse("", "pyscale-a") == {}


TEXTS = st.text(st.characters(exclude_characters="\x1e\x1f\x00"))


@given(TEXTS, TEXTS)
def test_reasons_and_comments_may_hold_what_they_like(reason: str, comment: str) -> None:
    (job,) = parse(f"\x1e5\x1fPENDING\x1f\x1fN/A\x1f{reason}\x1f{comment}.\n", "a").values()
    assert (job.reason, job.comment) == (reason, f"{comment}.")


@pytest.mark.parametrize("text", ["\x1e17\x1fRUNNING\n", WAITING.replace("8-9", "...")])
def test_an_answer_in_another_form_is_no_answer(text: str) -> None:
    with pytest.raises(SlurmSilent, match="unexpected line"):
        parse(text, "pyscale-a")


@pytest.mark.parametrize(
    "state", ["PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED"]
)
def test_a_job_lives_until_nothing_of_it_follows(state: str) -> None:
    (job,) = parse(RUNNING.replace("RUNNING", state), "a").values()
    assert job.alive


@pytest.mark.parametrize("state", sorted(ENDED))
def test_a_job_that_ended_does_not_live(state: str) -> None:
    (job,) = parse(RUNNING.replace("RUNNING", state), "a").values()
    assert not job.alive


def test_elements_that_slurm_forgot_are_known_by_their_array() -> None:
    jobs = parse(RUNNING + GANG.replace("18", "17"), "a")
    found = job_of(jobs, "17_5")
    assert found is not None
    assert found.job_id == "17"
    assert job_of(jobs, "17_0") == jobs["17_0"]
    assert job_of(jobs, "19") is None
