"""What N workers are given of a movie, in strong and in weak scaling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.errors import UserError
from pyscale.sweep import Sweep


def test_in_strong_scaling_all_share_the_movie_and_the_baseline_feeds():
    sweep = Sweep("strong", (2, 4), 9)
    assert [sweep.frames_at(n) for n in sweep.workers] == [9, 9]
    assert sweep.feeding == 2
    assert str(sweep) == "strong: N workers share the whole movie"


def test_in_weak_scaling_each_worker_has_as_many_frames_and_the_largest_n_feeds():
    sweep = Sweep("weak", (1, 2, 4), 9)
    assert [sweep.frames_at(n) for n in sweep.workers] == [2, 4, 8]
    assert sweep.feeding == 4
    assert str(sweep) == (
        "weak: each worker has 2 of the 9 frames at every N; the last is left out"
    )
    assert str(Sweep("weak", (1, 4), 8)) == "weak: each worker has 2 of the 8 frames at every N"


@given(
    counts=st.sets(st.integers(1, 64), min_size=1, max_size=5),
    more=st.integers(0, 500),
)
def test_no_worker_goes_without_a_frame_and_few_frames_are_left_out(counts, more):
    most = max(counts)
    sweep = Sweep("weak", tuple(sorted(counts)), most + more)
    assert {sweep.frames_at(n) / n for n in counts} == {sweep.frames_per_worker}
    assert sweep.frames_per_worker >= 1
    assert 0 <= sweep.frames - sweep.frames_at(most) < most


@pytest.mark.parametrize(
    ("scaling", "sentence"),
    [
        ("strong", "16 workers cannot share the 9 frames of a.tif: use fewer --workers"),
        (
            "weak",
            "--scaling weak needs at least one frame for each of up to 16 .* has 9",
        ),
    ],
)
def test_a_movie_that_is_too_short_is_refused(scaling, sentence):
    with pytest.raises(UserError, match=sentence):
        Sweep(scaling, (1, 16), 9).refuse_too_short("a.tif")


def test_the_sweep_of_a_plan_is_that_which_it_was_made_for(make):
    assert Sweep.of(make(workers=(1, 2, 4), scaling="weak")) == Sweep("weak", (1, 2, 4), 8)
    plan = make()
    settings = {name: value for name, value in plan.settings.items() if name != "scaling"}
    older = plan.model_copy(update={"settings": settings})
    assert Sweep.of(older) == Sweep("strong", (1, 2), 8)


def test_a_suite_may_say_how_many_frames_each_worker_has():
    sweep = Sweep("strong", (1, 2), 9, frames_each=3)
    assert sweep.is_weak
    assert [sweep.frames_at(n) for n in sweep.workers] == [3, 6]
    assert str(sweep) == (
        "weak: each worker has 3 of the 9 frames at every N; the last 3 are left out"
    )
    with pytest.raises(UserError, match="each of up to 4 workers 3 of the frames, but a.tif has 9"):
        Sweep("strong", (1, 4), 9, frames_each=3).refuse_too_short("a.tif")


def test_the_sweep_of_a_plan_has_the_frames_of_its_suite(sweep):
    assert Sweep.of(sweep(workers=(1, 2))) == Sweep("strong", (1, 2), 8, 1)
