"""Which run would settle what the trials leave open."""

from __future__ import annotations

from typing import Any

import pytest

from pyscale.analysis.advice import Choice
from pyscale.analysis.causes import Cause, Limits
from pyscale.analysis.experiments import Experiment, experiments


def choice(**changes: Any) -> Choice:
    """Choose N = 4 of 1, 2, 4 and 8, surely."""
    fields: dict[str, Any] = {
        "suite": "demo",
        "stage": "segment",
        "device": "cpu",
        "objective": "knee",
        "candidates": (1, 2, 4, 8),
        "workers": 4,
        "baseline_workers": 1,
        "share_chosen": 1.0,
        "worker_hours": 2.0,
        "scaling": "strong",
    }
    return Choice(**(fields | changes))


def limit(workers: int, code: str, gain: float = 0.3) -> Limits:
    cause = Cause(code=code, efficiency=0.5 + gain, gain=gain, seconds=1.0, share_first=1.0)
    return Limits(
        suite="demo",
        stage="segment",
        device="cpu",
        workers=workers,
        baseline_workers=1,
        trials=6,
        efficiency=0.5,
        causes=(cause,),
        not_measured=(),
        inflation=None,
        cpu_growth=None,
        beside=(),
    )


def found(
    *limits: Limits, repeats: int = 6, frames: int | None = None, **changes: Any
) -> dict[str, Experiment]:
    return {one.code: one for one in experiments(choice(**changes), repeats, limits, frames=frames)}


def test_a_sure_choice_within_the_measured_range_needs_nothing() -> None:
    assert found() == {}


def test_too_few_trials_are_made_enough_at_every_candidate() -> None:
    one = found(repeats=3, share_chosen=None)["few-repeats"]
    assert (one.workers, one.repeats) == ((1, 2, 4, 8), 6)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_two_rivals_are_timed_twice_as_often_beside_the_base_case(share: float) -> None:
    one = found(repeats=8, share_chosen=share, rival=8)["undecided"]
    assert (one.workers, one.repeats) == ((1, 4, 8), 16)


def test_the_largest_measured_is_doubled() -> None:
    one = found(workers=8, at_edge=True)["larger"]
    assert one.workers == (1, 8, 16)


def test_no_more_workers_than_frames_are_asked_for() -> None:
    assert found(workers=8, at_edge=True, frames=12)["larger"].workers == (1, 8, 12)
    assert found(workers=8, at_edge=True, frames=8) == {}


def test_a_budget_that_is_used_up_asks_for_no_larger_n() -> None:
    spent = {"workers": 8, "at_edge": True, "objective": "budget"}
    assert found(**spent, worker_hours_limit=2.0) == {}
    assert "larger" in found(**spent, worker_hours_limit=4.0)


def test_the_smallest_measured_is_halved_where_it_is_not_one() -> None:
    one = found(workers=4, baseline_workers=4)["smaller"]
    assert one.workers == (2, 4)
    assert found(workers=1) == {}


@pytest.mark.parametrize("code", ["work-inflation", "busy"])
def test_where_computing_grew_one_worker_does_the_same_windows(code: str) -> None:
    one = found(limit(8, code))["windows"]
    assert (one.workers, one.windows) == ((1,), 8)


def test_other_causes_and_small_ones_ask_for_no_such_run() -> None:
    assert found(limit(8, "imbalance"), limit(4, "work-inflation", gain=0.001)) == {}


def test_in_weak_scaling_one_worker_cannot_have_the_windows_of_many() -> None:
    assert found(limit(8, "work-inflation"), scaling="weak") == {}


def test_where_nothing_is_chosen_nothing_is_asked_for() -> None:
    assert found(workers=None, repeats=1) == {}
