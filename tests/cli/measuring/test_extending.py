from collections import defaultdict

import pytest

from atleastone import some
from mockexecutor import MockExecutor
from mockruns import carry_out, killed_at
from pyscale.errors import UserError
from pyscale.evaluation.runline import repeat_line
from pyscale.measuring.blocks import extended
from pyscale.planning.runsettings import step_asked_for
from pyscale.store import provenance
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import changed_code, read_provenance
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


def test_each_configuration_gets_its_trials_in_blocks_of_their_own(make):
    plan = make(workers=(2, 4), chunks_per_worker=2)
    more = extended(plan, 4)
    for entry in STAGES:
        assert counts_by_block(added(plan, more), entry) == {3: {2, 4}, 4: {2, 4}}
    assert {t.reference_trial for t in more.trials} == {t.reference_trial for t in plan.trials}
    # A stage that only feeds others is not repeated.
    plan = make(only=("segment",))
    assert {trial.entry for trial in added(plan, extended(plan, 3))} == {"segment"}


@pytest.mark.parametrize("split", ["frames", "threads", "ranks", "none"])
@pytest.mark.parametrize("scaling", ["strong", "weak"])
def test_workers_share_the_work_as_they_did_before(make, make_of, split, scaling):
    if scaling == "weak":
        plan = make(workers=(1, 2, 4), scaling=scaling)
    else:
        step = step_asked_for(None, "cp {input} {output}", {"split": split, "output": "out.tif"})
        plan = make_of(step, workers=(1, 2, 4))
    before = {(trial.entry, trial.workers): trial for trial in plan.trials if trial.block == 2}
    for trial in some(added(plan, extended(plan, 3))):
        same = {"id": trial.id, "block": trial.block}
        assert trial == before[trial.entry, trial.workers].model_copy(update=same)


def test_added_blocks_are_random_and_the_same_for_the_same_seed(make):
    def orders(seed):
        plan = make(seed=seed)
        trials = added(plan, extended(plan, 6))
        return [
            [trial.id.rpartition("-b")[0] for trial in trials if trial.block == block]
            for block in range(3, 7)
        ]

    assert orders(0) == orders(0)
    assert orders(0) != orders(1)
    assert len({tuple(order) for order in orders(0)}) > 1


def test_an_interrupted_run_is_extended_and_finished(run):
    killed_at(run, run.plan.trials[5].id, "w0")
    run.replace_plan(extended(run.plan, 3))
    again = measured_by(RunFolder(run.path), MockExecutor())
    assert again == [trial.id for trial in run.plan.trials[5:]]


def test_a_run_can_be_extended_again_and_its_line_asks_for_all_of_it(make):
    once = extended(make(), 3)
    twice = extended(once, 5)
    assert counts_by_block(added(once, twice)) == {4: {1, 2}, 5: {1, 2}}
    assert "--workers 1,2 --repeats 5" in repeat_line(twice)


def test_fewer_trials_than_there_are_is_refused(make):
    with refused(UserError):
        extended(make(), 2)


def test_other_code_is_told_of(run, monkeypatch):
    assert changed_code(run.path) is None
    monkeypatch.setattr(provenance, "code_commit", lambda: "f" * 40)
    began = read_provenance(run.path).pyscale_version
    assert f"and this is {began} (ffffffffffff)" in (changed_code(run.path) or "")
