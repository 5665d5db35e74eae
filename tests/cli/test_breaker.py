"""When a run is stopped because its failures repeat."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pyscale.breaker import Breaker
from pyscale.store.journal import Event, EventKind


def event(kind: EventKind, trial: str | None = None, detail: str = "") -> Event:
    return Event(time_utc=datetime.now(UTC), kind=kind, trial=trial, detail=detail)


def failed(trial: str, detail: str) -> Event:
    return event("trial_failed", trial, detail)


def ended(detail: str) -> Event:
    return event("allocation_ended", detail=detail)


ALIKE = [failed(f"contact-n1-b{b}", f"w0: job {b} failed on n{b}") for b in (1, 2, 3)]
GONE = [ended(f"job {job} failed on n1") for job in (17, 18, 19)]


@pytest.mark.parametrize(
    ("events", "stops"),
    [
        (ALIKE, True),
        (ALIKE[:2], False),
        ([*ALIKE[:2], failed("contact-n1-b3", "merge: no room")], False),
        ([*ALIKE[:2], event("trial_finished", "contact-n2-b1"), ALIKE[2]], False),
        ([*ALIKE[:2], ALIKE[1]], False),
        ([*ALIKE, event("run_started")], False),
        (GONE, True),
        (GONE[:2], False),
        ([*GONE[:2], ended("job 19 was preempted on n1")], False),
        ([*GONE[:2], event("trial_finished", "contact-n2-b1"), GONE[2]], False),
    ],
    ids=[
        "three trials alike",
        "two",
        "another reason",
        "one finished between",
        "a trial tried twice is one",
        "the run was started anew",
        "three allocations alike",
        "two allocations",
        "another end",
        "a trial finished between",
    ],
)
def test_three_alike_in_a_row_stop_the_run(events, stops):
    breaker = Breaker()
    for one in events:
        breaker.hear(one)
    assert (breaker.reason is not None) == stops
    if stops:
        assert events[-1].detail in str(breaker.reason)
