"""Every block holds every configuration once, in an order that the pipeline allows."""

import pytest


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


@pytest.mark.parametrize("seed", range(20))
def test_what_a_trial_rests_on_comes_before_it(make, seed):
    seen = set()
    for trial in make(workers=(1, 2, 4), seed=seed).trials:
        needed = {item.from_trial for item in trial.inputs if item.from_trial}
        needed |= set() if trial.is_reference else {trial.reference_trial}
        assert needed <= seen
        seen.add(trial.id)


def test_the_same_seed_gives_the_same_order(make):
    ids = [[t.id for t in make(seed=seed, repeats=6).trials] for seed in (3, 3, 4)]
    assert ids[0] == ids[1] != ids[2]


def test_measuring_one_stage_runs_those_that_feed_it_once_at_the_baseline(make):
    trials = make(only=("contact",)).trials
    fed = sorted(t.id for t in trials if t.entry != "contact")
    assert fed == ["register_denoise-n1-b1", "segment-n1-b1"]
    assert sorted(t.workers for t in trials if t.entry == "contact") == [1, 1, 2, 2]


@pytest.mark.parametrize("seed", range(20))
def test_a_point_comes_before_those_that_are_set_beside_it(sweep, seed):
    grid = {"device": ["cpu", "cuda", "mps"]}
    seen = []
    for trial in sweep(grid, workers=(1, 2), seed=seed).trials:
        assert trial.beside_trial is None or trial.beside_trial in seen
        seen.append(trial.id)
    assert len(seen) == 2 * 2 * 3 * 2
