"""What squeue tells of jobs is understood; the texts are those of Slurm 22.05."""

import os
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs import put_program
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
    for reason in ("None", "Resources", "Priority", "JobHeldUser", "QOSMaxCpuPerUserLimit"):
        assert_said(queue.why_it_waits(reason))


SACCT = """\
100|COMPLETED|n1
104|CANCELLED by 0|n2
108|RUNNING|n2
105|CANCELLED by 1004|None assigned
113|NODE_FAIL|n2
"""


def test_the_accounts_tell_how_jobs_ended_where_and_who_cancelled(tmp_path, monkeypatch):
    program = put_program(tmp_path, "sacct", f"cat <<'END'\n{SACCT}END")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    # It answers, however busy the machine is.
    monkeypatch.setattr(queue, "TIME_LIMIT_S", 600.0)
    assert queue.ends_of(["104", "105"]) == {
        "100": queue.JobEnd("COMPLETED", "n1", None),
        "104": queue.JobEnd("CANCELLED", "n2", 0),
        # One that never began has no node.
        "105": queue.JobEnd("CANCELLED", "", 1004),
        "113": queue.JobEnd("NODE_FAIL", "n2", None),
    }
    # Where there are no accounts nothing is known.
    program.write_text("#!/bin/sh\necho 'accounting is off' >&2\nexit 1\n")
    assert queue.ends_of(["113"]) == {}
