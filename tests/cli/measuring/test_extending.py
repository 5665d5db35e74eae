from collections import defaultdict
from datetime import datetime, timedelta
from itertools import count, pairwise

import pytest

from atleastone import some
from mockexecutor import MockExecutor
from mockruns import carry_out, events_of, failing, killed_at
from pyscale.analysis.intervals import repeats_needed
from pyscale.errors import UserError
from pyscale.evaluation.results import results_of
from pyscale.evaluation.runline import repeat_line
from pyscale.measuring import blocks
from pyscale.measuring.blocks import extended, is_look, what_time_bought, widest_percent
from pyscale.planning.runsettings import step_asked_for
from pyscale.progress.course import Course
from pyscale.store import journal, provenance
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
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


@pytest.fixture
def timed(make, tmp_path, monkeypatch):
    """Runs of one stage by time, in which each event comes a second after the one before."""
    seconds = count()

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 3, 17, tzinfo=tz) + timedelta(seconds=next(seconds))

    monkeypatch.setattr(journal, "datetime", Clock)

    def run(at_most, **settings):
        plan = make(only=("contact",), repeats=blocks.FEWEST)
        asked = plan.settings | {"at_most": at_most} | settings
        return RunFolder.create(tmp_path / "runs", plan.model_copy(update={"settings": asked}))

    return run


def blocks_of(run):
    return RunFolder(run.path).plan.settings["repeats"]


def course_of(run):
    return Course(Journal(run.journal_file).read())


def test_blocks_are_added_as_long_as_the_next_one_fits(timed):
    run = timed("5min")
    assert carry_out(run) == ()
    assert blocks_of(run) > blocks.FEWEST
    assert len(events_of(run, "run_extended")) == blocks_of(run) - blocks.FEWEST
    course, last = course_of(run), run.plan.trials[-2:]
    assert course.worked_s <= 300
    assert course.worked_s + 1.5 * course.longest_s(last) > 300
    # Every trial of each block was measured, and going on adds none.
    assert {trial.block for trial in some(run.plan.trials)} == {*range(1, blocks_of(run) + 1)}
    had = blocks_of(run)
    assert carry_out(RunFolder(run.path)) == ()
    assert blocks_of(run) == had


def test_two_blocks_are_measured_however_short_the_time_is(timed):
    run = timed("1s")
    assert carry_out(run) == ()
    assert blocks_of(run) == blocks.FEWEST


def test_no_block_is_added_where_a_trial_failed(timed):
    run = timed("5min")
    assert carry_out(run, failing("contact-n2-b2", "w0")) == ("contact-n2-b2",)
    assert blocks_of(run) == blocks.FEWEST


@pytest.mark.parametrize(
    ("widest", "until", "ends_early"), [(4.9, "5%", True), (5.1, "5%", False), (4.9, None, False)]
)
def test_a_run_ends_when_its_intervals_are_as_narrow_as_asked(
    timed, monkeypatch, widest, until, ends_early
):
    monkeypatch.setattr(blocks, "widest_percent", lambda _results: widest)
    run = timed("4min", until=until)
    carry_out(run)
    # Two looks in a row must find them so.
    assert (blocks_of(run) == repeats_needed() + 2) == ends_early


def test_the_width_is_that_of_the_widest_speedup_and_unknown_of_too_few_trials(timed):
    run = timed("1s")
    carry_out(run)
    assert widest_percent(results_of(run)) is None
    long = timed("4min", until="99%")
    carry_out(long)
    results = results_of(long)
    (row,) = results.configurations.filter(results.configurations["workers"] == 2).to_dicts()
    half = (row["speedup_high"] - row["speedup_low"]) / 2
    assert widest_percent(results) == pytest.approx(100 * half / row["speedup"])


def test_what_more_time_would_give_is_said_with_the_line_that_takes_it(timed):
    run = timed("1s")
    carry_out(run)
    told = what_time_bought(run, results_of(run))
    assert told.startswith("2 blocks of trials in ")
    assert told.endswith(f"pyscale extend {run.path.name} --repeats 6")


def test_looks_come_seldom_and_not_before_an_interval_can_be():
    looks = [blocks for blocks in range(1, 40) if is_look(blocks)]
    assert looks[0] == repeats_needed()
    assert len(looks) < 10
    assert all(later >= 1.2 * look for look, later in some(pairwise(looks)))
