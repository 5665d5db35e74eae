import pytest
from hypothesis import given
from hypothesis import strategies as st

from atleastone import some
from pyscale.errors import UserError
from pyscale.planning.sweep import Sweep
from refusals import assert_said, refused


@pytest.mark.parametrize(
    ("sweep", "frames", "feeding", "is_weak"),
    [
        (Sweep("strong", (2, 4), 9), [9, 9], 2, False),
        (Sweep("weak", (1, 2, 4), 9), [2, 4, 8], 4, True),
        (Sweep("weak", (1, 4), 8), [2, 8], 4, True),
        # A suite may say how many frames each worker has.
        (Sweep("strong", (1, 2), 9, frames_each=3), [3, 6], 2, True),
    ],
    ids=["strong", "weak", "weak without rest", "frames of a suite"],
)
def test_what_n_workers_are_given_and_which_n_feeds_others(sweep, frames, feeding, is_weak):
    assert [sweep.frames_at(n) for n in sweep.workers] == frames
    assert sweep.feeding == feeding
    assert sweep.is_weak == is_weak
    assert_said(sweep)


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
    "sweep",
    [
        Sweep("strong", (1, 16), 9),
        Sweep("weak", (1, 16), 9),
        Sweep("strong", (1, 4), 9, frames_each=3),
    ],
    ids=range(3),
)
def test_a_movie_that_is_too_short_is_refused(sweep):
    with refused(UserError):
        sweep.refuse_too_short("a.tif")


def test_the_sweep_of_a_plan_is_that_which_it_was_made_for(make, sweep):
    assert Sweep.of(make(workers=(1, 2, 4), scaling="weak")) == Sweep("weak", (1, 2, 4), 8)
    assert Sweep.of(sweep(workers=(1, 2))) == Sweep("strong", (1, 2), 8, 1)
    plan = make()
    settings = {name: value for name, value in plan.settings.items() if name != "scaling"}
    older = plan.model_copy(update={"settings": settings})
    assert Sweep.of(older) == Sweep("strong", (1, 2), 8)


def test_every_block_holds_every_configuration_once_in_another_order(make):
    plan = make(workers=(1, 2, 4), repeats=6)
    wanted = [(e, n) for e in sorted(plan.suite.stages) for n in (1, 2, 4)]
    orders = [
        tuple((t.entry, t.workers) for t in plan.trials if t.block == block)
        for block in range(1, 7)
    ]
    assert all(sorted(order) == wanted for order in orders)
    assert len({*orders[1:]}) == 5
    # Blocks come one after the other.
    blocks = [trial.block for trial in plan.trials]
    assert blocks == sorted(blocks)


@pytest.mark.parametrize("seed", range(10))
def test_what_a_trial_rests_on_comes_before_it(make, seed):
    seen = set()
    for trial in some(make(workers=(1, 2, 4), seed=seed).trials):
        needed = {item.from_trial for item in trial.inputs if item.from_trial}
        needed |= set() if trial.is_reference else {trial.reference_trial}
        assert needed <= seen
        seen.add(trial.id)


def test_measuring_one_stage_runs_those_that_feed_it_once_at_the_baseline(make):
    trials = make(only=("contact",)).trials
    fed = sorted(t.id for t in trials if t.entry != "contact")
    assert fed == ["register_denoise-n1-b1", "segment-n1-b1"]
    assert sorted(t.workers for t in trials if t.entry == "contact") == [1, 1, 2, 2]


@pytest.mark.parametrize("seed", range(10))
def test_a_point_comes_before_those_that_are_set_beside_it(sweep, seed):
    grid = {"device": ["cpu", "cuda"], "threads": [1, 2]}
    seen = []
    for trial in sweep(grid, workers=(1, 2), seed=seed).trials:
        assert trial.beside_trial is None or trial.beside_trial in seen
        seen.append(trial.id)
    assert len(seen) == 2 * 2 * 4 * 2
