"""When a run ends is told from how long its trials took."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mockruns import PlanMaker
from pyscale.pace import pace_of
from pyscale.plan import Trial
from pyscale.store.journal import Event, EventKind

START = datetime(2026, 3, 17, tzinfo=UTC)


def at(second: float, kind: EventKind, trial: Trial | None = None) -> Event:
    return Event(
        time_utc=START + timedelta(seconds=second), kind=kind, trial=trial.id if trial else None
    )


@pytest.fixture
def trials(make: PlanMaker) -> tuple[Trial, ...]:
    """Three repeats of one configuration, then three of another."""
    plan = make(workers=(1, 2), only=("register_denoise",), repeats=3)
    return tuple(sorted(plan.trials, key=lambda trial: (trial.workers, trial.block)))


def test_a_configuration_of_which_nothing_is_known_lasts_as_the_others(trials):
    # Nothing is foretold before a trial has finished.
    assert pace_of([at(1, "trial_started", trials[0])]).left_s(trials, START) is None
    pace = pace_of([at(0, "trial_started", trials[0]), at(100, "trial_finished", trials[0])])
    assert pace.left_s([trials[3]], START) == 100


def test_each_remaining_trial_lasts_as_long_as_others_of_its_configuration(trials):
    one, two = trials[0], trials[3]
    pace = pace_of(
        [
            at(0, "trial_started", one),
            at(100, "trial_finished", one),
            at(100, "trial_started", two),
            at(110, "trial_finished", two),
        ]
    )
    assert pace.median_s([one]) == 100
    assert pace.left_s(trials[1:3], START) == 200
    assert pace.left_s(trials[4:], START) == 20


def test_what_a_trial_under_way_has_run_already_is_taken_off(trials):
    first, second = trials[:2]
    pace = pace_of(
        [
            at(0, "trial_started", first),
            at(100, "trial_finished", first),
            at(100, "trial_started", second),
        ]
    )
    assert pace.left_s([second], START + timedelta(seconds=130)) == 70
    assert pace.left_s([second], START + timedelta(seconds=500)) == 0


@pytest.mark.parametrize(
    ("told", "durations_s"),
    [
        # The time between a death and the resume is no trial's.
        ([(0, "trial_started"), (9000, "run_started"), (9001, "trial_finished")], []),
        (
            [
                (0, "trial_started"),
                (50, "trial_failed"),
                (50, "trial_retried"),
                (60, "trial_started"),
                (100, "trial_finished"),
            ],
            [40],
        ),
    ],
    ids=["resumed", "second attempt"],
)
def test_a_trial_counts_from_its_own_last_start(trials, told, durations_s):
    first = trials[0]
    events = [at(s, kind, first if kind.startswith("trial") else None) for s, kind in told]
    assert [*pace_of(events).durations_s.values()] == durations_s
