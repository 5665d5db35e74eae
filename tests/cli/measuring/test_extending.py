"""A run is extended: what it has stays, and what is added is random, whole and comparable."""

from collections import defaultdict

import pytest

from atleastone import some
from mockexecutor import MockExecutor
from mockruns import carry_out, killed_at
from pyscale.errors import UserError
from pyscale.evaluation.runline import repeat_line
from pyscale.measuring import extending
from pyscale.measuring.extending import changed_code, extended
from pyscale.planning.ownstep import step_asked_for
from pyscale.progress.status import StatusReader
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from refusals import refused

STAGES = ("register_denoise", "segment", "contact", "track")


def added(before, after):
    assert after.trials[: len(before.trials)] == before.trials
    return after.trials[len(before.trials) :]


def counts_by_block(trials, entry="segment"):
    blocks = defaultdict(set)
    for trial in trials:
        if trial.entry == entry:
            blocks[trial.block].add(trial.workers)
    return dict(blocks)


def measured_by(run, executor):
    before = len(executor.started)
    carry_out(run, executor)
    return list(dict.fromkeys(trial for trial, _ in executor.started[before:]))


@pytest.mark.parametrize(
    ("repeats", "workers", "blocks"),
    [
        (3, None, {3: {1, 2}}),
        (4, None, {3: {1, 2}, 4: {1, 2}}),
        (None, (4,), {3: {1, 4}, 4: {1, 4}}),
        (None, (1, 2, 4), {3: {1, 4}, 4: {1, 4}}),
        (3, (4,), {3: {1, 2, 4}, 4: {1, 4}, 5: {1, 4}}),
    ],
)
def test_each_configuration_gets_its_trials_in_blocks_that_hold_the_baseline(
    make, repeats, workers, blocks
):
    plan = make()
    more = extended(plan, repeats, workers)
    for entry in STAGES:
        assert counts_by_block(added(plan, more), entry) == blocks
    assert more.baseline_workers == plan.baseline_workers == 1
    assert {t.reference_trial for t in more.trials} == {t.reference_trial for t in plan.trials}


@pytest.mark.parametrize("split", ["frames", "threads", "ranks", "none"])
def test_workers_of_a_step_share_its_work_as_they_did_before(make_of, split):
    step = step_asked_for(None, "cp {input} {output}", {"split": split, "output": "out.tif"})
    planned = make_of(step, workers=(1, 2, 4)).trials
    before = {trial.workers: trial for trial in planned if trial.block == 1}
    plan = make_of(step, workers=(1, 2))
    for trial in some(added(plan, extended(plan, 3, (4,)))):
        same = {"id": trial.id, "block": trial.block}
        assert trial == before[trial.workers].model_copy(update=same)


def test_the_work_is_the_same_and_is_shared_by_each_n(make):
    plan = make(chunks_per_worker=2)
    for trial in some(added(plan, extended(plan, 3, (4,)))):
        old = next(one for one in plan.trials if one.entry == trial.entry)
        same = {"stage", "inputs", "params", "truth", "device", "image", "compared"}
        assert trial.model_dump(include=same) == old.model_dump(include=same)
        assert len(trial.windows) == min(8, 2 * trial.workers)
        assert (trial.windows[0][0], trial.windows[-1][1]) == (0, 8)


def test_added_blocks_are_random_and_the_same_for_the_same_seed(make):
    def orders(seed):
        plan = make(seed=seed)
        trials = added(plan, extended(plan, 6, None))
        return [
            [trial.id.rpartition("-b")[0] for trial in trials if trial.block == block]
            for block in range(3, 7)
        ]

    assert orders(0) == orders(0)
    assert orders(0) != orders(1)
    assert len({tuple(order) for order in orders(0)}) > 1


@pytest.mark.slow
def test_an_extended_run_measures_what_is_new_alone(run):
    executor, before = MockExecutor(), run.plan
    measured_by(run, executor)
    run.replace_plan(extended(before, 3, (4,)))
    assert StatusReader(run).state() == "incomplete"
    again = measured_by(RunFolder(run.path), executor)
    assert again == [trial.id for trial in added(before, run.plan)]
    assert StatusReader(run).state() == "complete"


def test_an_interrupted_run_is_extended_and_finished(run):
    killed_at(run, run.plan.trials[5].id, "w0")
    run.replace_plan(extended(run.plan, 3, None))
    again = measured_by(RunFolder(run.path), MockExecutor())
    assert again == [trial.id for trial in run.plan.trials[5:]]


def test_a_run_can_be_extended_again_and_its_line_asks_for_all_of_it(make):
    once = extended(make(), None, (4,))
    twice = extended(once, 5, None)
    # The baseline has four trials by now.
    assert counts_by_block(added(once, twice)) == {5: {1, 2, 4}, 6: {1, 2, 4}, 7: {1, 2, 4}}
    assert "--workers 1,2,4 --repeats 3" in repeat_line(extended(make(), 3, (4,)))
    # A stage that only feeds others is not repeated.
    plan = make(only=("segment",))
    assert {trial.entry for trial in added(plan, extended(plan, 3, (4,)))} == {"segment"}


def test_weak_scaling_keeps_the_frames_of_each_worker(make):
    plan = make(workers=(1, 4), scaling="weak")
    (two,) = {
        trial.windows for trial in added(plan, extended(plan, None, (2,))) if trial.workers == 2
    }
    assert two == ((0, 2), (2, 4))
    with refused(UserError):
        extended(plan, None, (8,))


def test_points_of_a_grid_get_more_trials_and_no_other_workers(sweep):
    plan = sweep({"device": ["cpu", "cuda"]})
    assert len(added(plan, extended(plan, 4, None))) == len(plan.trials)
    with refused(UserError):
        extended(plan, None, (2,))


@pytest.mark.parametrize(
    ("repeats", "workers"),
    [
        (1, None),
        (2, None),
        (None, (2, 3)),
        (None, (1,)),
        (None, (9,)),
    ],
    ids=str,
)
def test_what_cannot_be_is_one_sentence(make, repeats, workers):
    with refused(UserError):
        extended(make(workers=(2, 3)), repeats, workers)


def test_other_code_is_told_of(run, monkeypatch):
    assert changed_code(run) is None
    monkeypatch.setattr(extending, "code_commit", lambda: "f" * 40)
    began = read_provenance(run.path).pyscale_version
    assert f"and this is {began} (ffffffffffff)" in (changed_code(run) or "")
