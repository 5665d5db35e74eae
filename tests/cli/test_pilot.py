"""What is left for the next allocation of a run."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pyscale.pilot import begun_and_left, likely_s, trials_left
from pyscale.sites import load_site
from pyscale.store.journal import Event, EventKind, Journal

NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def event(kind: EventKind, trial: str | None = None) -> Event:
    return Event(time_utc=NOON, kind=kind, trial=trial)


@pytest.mark.parametrize(
    ("kinds", "is_left"),
    [
        ((), True),
        (("trial_started",), True),
        (("trial_started", "trial_finished"), False),
        (("trial_started", "trial_failed"), False),
        (("trial_started", "trial_failed", "trial_retried"), True),
        (("trial_skipped",), False),
        (("trial_started", "trial_failed", "run_started"), True),
        # The journal says that it had finished, and a user has removed its records.
        (("trial_started", "trial_finished", "run_started"), True),
    ],
)
def test_a_trial_is_left_until_it_has_ended_since_the_run_was_started(run, kinds, is_left):
    first = run.plan.trials[0]
    events = [event("run_started")]
    events += [event(kind, first.id if kind.startswith("trial") else None) for kind in kinds]
    assert (first in trials_left(run, events)) == is_left


def test_a_trial_that_an_earlier_pilot_had_begun_is_known(run):
    first, second, *_ = run.plan.trials
    events = [event("trial_started", second.id), event("run_started")]
    events.append(event("trial_started", first.id))
    assert begun_and_left(events, trials_left(run, events)) == [first]


def test_a_trial_is_likely_to_last_as_long_as_the_longest_of_its_entry(run):
    on_site = run.plan.model_copy(update={"site": load_site("plain")})
    run.replace_plan(on_site)
    first = run.plan.trials[0]
    assert likely_s(run, first) == 3600
    Journal(run.journal_file).append("trial_started", first.id)
    Journal(run.journal_file).append("trial_finished", first.id)
    assert likely_s(run, first) < 60
