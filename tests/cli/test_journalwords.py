"""The journal tells what happened in plain words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

from pyscale.journalwords import PHRASES, said, story
from pyscale.store.journal import Event, EventKind

NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def event(
    kind: EventKind, trial: str | None = None, job_ids: tuple[str, ...] = (), detail: str = ""
) -> Event:
    return Event(time_utc=NOON, kind=kind, trial=trial, job_ids=job_ids, detail=detail)


def lines(*events: Event) -> list[str]:
    return [line.removeprefix("2026-03-17 12:00:00 UTC  ") for line in story(events)]


def test_every_event_has_words() -> None:
    assert set(PHRASES) == set(get_args(EventKind))


def test_a_line_has_its_time_its_trial_and_what_happened() -> None:
    failed = event("trial_failed", "segment-n2-b1", detail="out of memory on n1")
    assert list(story([failed])) == [
        "2026-03-17 12:00:00 UTC  segment-n2-b1 failed: out of memory on n1"
    ]


def test_few_jobs_are_named() -> None:
    submitted = event("submitted", "a", ("17_0", "17_1"), "w0, w1")
    assert said(submitted) == "a submitted: w0, w1 as 17_0, 17_1"


def test_many_jobs_are_shortened() -> None:
    ids = tuple(f"17_{number}" for number in range(1000))
    tasks = ", ".join(f"w{number}" for number in range(1000))
    assert said(event("submitted", "a", ids, tasks)) == (
        "a submitted: w0 … w999 (1000) as 17_0 … 17_999 (1000)"
    )


def test_tasks_that_were_taken_up_are_named() -> None:
    assert said(event("trial_taken_up", "a", detail="w0, w1, w2, w3, w4")) == (
        "a continued from an earlier pyscale: w0 … w4 (5)"
    )


def test_a_silent_slurm_and_its_return_are_told() -> None:
    assert lines(
        event("slurm_silent", detail="squeue: Connection refused"), event("slurm_answers")
    ) == ["Slurm does not answer: squeue: Connection refused", "Slurm answers again"]


def test_a_run_taken_up_after_a_death_says_so() -> None:
    assert lines(event("run_started"), event("trial_started", "a"), event("run_started")) == [
        "the run started",
        "a started",
        "the run was resumed: the pyscale before ended without a record",
    ]


def test_a_run_taken_up_after_an_end_was_not_left_by_a_death() -> None:
    assert lines(event("run_started"), event("run_cancelled"), event("run_started"))[-1] == (
        "the run was resumed"
    )
