"""The journal tells what happened in plain words."""

from datetime import UTC, datetime
from typing import get_args

import pytest

from pyscale.journalwords import PHRASES, story
from pyscale.store.journal import Event, EventKind

NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def event(kind, trial=None, job_ids=(), detail=""):
    return Event(time_utc=NOON, kind=kind, trial=trial, job_ids=job_ids, detail=detail)


def test_every_event_has_words():
    assert set(PHRASES) == set(get_args(EventKind))


def test_a_line_has_its_time_its_trial_and_what_happened():
    failed = event("trial_failed", "segment-n2-b1", detail="out of memory on n1")
    assert list(story([failed])) == [
        "2026-03-17 12:00:00 UTC  segment-n2-b1 failed: out of memory on n1"
    ]


IDS = tuple(f"17_{number}" for number in range(1000))
TASKS = ", ".join(f"w{number}" for number in range(1000))
STARTED = event("run_started")


@pytest.mark.parametrize(
    ("events", "last"),
    [
        # Few jobs are named, and many are shortened.
        ([event("submitted", "a", IDS[:2], "w0, w1")], "a submitted: w0, w1 as 17_0, 17_1"),
        (
            [event("submitted", "a", IDS, TASKS)],
            "a submitted: w0 … w999 (1000) as 17_0 … 17_999 (1000)",
        ),
        (
            [event("trial_taken_up", "a", detail="w0, w1, w2, w3, w4")],
            "a continued from an earlier pyscale: w0 … w4 (5)",
        ),
        (
            [event("slurm_silent", detail="squeue: Connection refused")],
            "Slurm does not answer: squeue: Connection refused",
        ),
        ([event("slurm_answers")], "Slurm answers again"),
        ([STARTED], "the run started"),
        ([STARTED, event("trial_started", "a")], "a started"),
        (
            [STARTED, event("trial_started", "a"), STARTED],
            "the run was resumed: the pyscale before ended without a record",
        ),
        # One that ended was not left by a death.
        ([STARTED, event("run_cancelled"), STARTED], "the run was resumed"),
    ],
)
def test_what_happened_is_told_in_words(events, last):
    assert [*story(events)][-1].removeprefix("2026-03-17 12:00:00 UTC  ") == last
