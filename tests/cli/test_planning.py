"""A plan: the parameters and windows of its trials, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.errors import UserError
from pyscale.plan import Plan
from pyscale.planning import even_windows, powers_of_two

PlanMaker = Callable[..., Plan]


def test_a_parameter_of_the_user_replaces_that_of_the_suite(make: PlanMaker) -> None:
    plan = make(stages={"track": {"max_distance_px": 7.0}})
    assert {t.params["max_distance_px"] for t in plan.trials if t.entry == "track"} == {7.0}


def test_parameters_for_a_stage_of_another_suite_do_no_harm(make: PlanMaker) -> None:
    plan = make(stages={"segment_ch1": {"channel": 1}})
    assert all(t.params["channel"] == 0 for t in plan.trials if t.entry == "segment")


@given(frames=st.integers(1, 400), workers=st.integers(1, 64))
def test_windows_cover_the_movie_once_and_evenly(frames: int, workers: int) -> None:
    workers = min(workers, frames)
    windows = even_windows(frames, workers)
    assert [f for start, stop in windows for f in range(start, stop)] == list(range(frames))
    lengths = [stop - start for start, stop in windows]
    assert max(lengths) - min(lengths) <= 1


def test_a_worker_may_have_several_windows(make: PlanMaker) -> None:
    (trial, *_) = (t for t in make(chunks_per_worker=3).trials if t.workers == 2)
    assert trial.windows == even_windows(8, 6)
    assert trial.tasks == ("w0", "w1", "w2", "w3", "w4", "w5", "merge", "check")


def test_one_worker_with_several_windows_has_them_merged(make: PlanMaker) -> None:
    trial = make(chunks_per_worker=3).trial("contact-n1-b1")
    assert trial.tasks == ("w0", "w1", "w2", "merge")
    assert trial.output_task == "merge"


def test_no_window_is_shorter_than_a_frame(make: PlanMaker) -> None:
    windows = {t.workers: t.windows for t in make(workers=(1, 4), chunks_per_worker=5).trials}
    assert windows == {1: even_windows(8, 5), 4: even_windows(8, 8)}


def test_workers_that_start_as_one_have_one_window_each(make: PlanMaker) -> None:
    assert {len(t.windows) == t.workers for t in make(layout="gang").trials} == {True}


def test_worker_counts_double_up_to_the_machine() -> None:
    assert [powers_of_two(most) for most in (1, 2, 3, 8)] == [(1,), (1, 2), (1, 2), (1, 2, 4, 8)]


class TestRefuses:
    def test_more_workers_than_frames(self, make: PlanMaker) -> None:
        with pytest.raises(UserError, match="16 workers cannot share the 8 frames"):
            make(workers=(1, 16))

    def test_several_windows_for_workers_that_start_as_one(self, make: PlanMaker) -> None:
        with pytest.raises(UserError, match="--layout gang .* no --chunks-per-worker 2: leave"):
            make(layout="gang", chunks_per_worker=2)

    def test_an_unknown_stage(self, make: PlanMaker) -> None:
        with pytest.raises(UserError, match="no stage 'segmnt'; did you mean 'segment'"):
            make(only=("segmnt",))

    def test_parameters_for_a_stage_that_no_suite_has(self, make: PlanMaker) -> None:
        with pytest.raises(UserError, match="'segmnt' that no suite has; did you mean 'segment'"):
            make(stages={"segmnt": {}})

    def test_a_misspelt_parameter(self, make: PlanMaker) -> None:
        with pytest.raises(UserError, match="parameters of track are wrong.*'max_distance_px'"):
            make(stages={"track": {"max_distnce_px": 3}})
