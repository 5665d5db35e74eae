"""A run in which the movie grows with N, from its plan to its report."""

import polars as pl
import pytest

from mockexecutor import MockExecutor
from mockruns import carried_out, carry_out, failing, result_of
from pyscale.measuring.benchmark import benchmark
from pyscale.measuring.trialrecords import earlier_trials
from pyscale.planning.sweep import even_windows
from pyscale.store.folder import RunFolder
from pyscale.store.tables import build_tables

pytestmark = pytest.mark.usefixtures("without_figures")


@pytest.fixture
def plan(make):
    return make(workers=(1, 2, 4), scaling="weak")


def test_each_worker_has_two_frames_at_every_n(plan, make):
    for trial in plan.trials:
        assert trial.windows == even_windows(2 * trial.workers, trial.workers)
        assert trial.movie_frames == 2 * trial.workers
        # No output is compared with that of another N.
        assert "check" not in trial.tasks
    assert {trial.movie_frames for trial in make().trials} == {None}
    several = make(workers=(1, 2, 4), scaling="weak", chunks_per_worker=2).trials
    assert {len(trial.windows) / trial.workers for trial in several} == {2}


def test_later_stages_read_the_trial_that_had_the_most_frames(make):
    plans = [make(workers=(1, 2, 4), scaling="weak", seed=seed) for seed in range(20)]
    for plan in plans:
        seen = set()
        for trial in plan.trials:
            sources = [item.from_trial for item in trial.inputs if item.from_trial]
            assert all(source.endswith("-n4-b1") for source in sources)
            assert seen.issuperset(sources)
            seen.add(trial.id)
            # Windows are ordered by trials that had all their frames.
            assert all(one.workers >= trial.workers for one in earlier_trials(plan, trial))
    # The first trial of the first stage may be at any N.
    assert {plan.trials[0].workers for plan in plans} == {1, 2, 4}
    # Stages that only feed run once, at the N that feeds.
    trials = make(workers=(1, 2, 4), scaling="weak", only=("contact",)).trials
    fed = sorted(trial.id for trial in trials if trial.entry != "contact")
    assert fed == ["register_denoise-n4-b1", "segment-n4-b1"]


def test_where_the_truth_is_known_the_quality_of_what_feeds_is_measured(plan, tmp_path):
    """What feeds is checked against itself, and that is no agreement."""
    truth = tmp_path / "truth"
    trials = tuple(trial.model_copy(update={"truth": truth}) for trial in plan.trials)
    run = carried_out(plan.model_copy(update={"trials": trials}), tmp_path)
    checks = build_tables(run).tasks.filter(pl.col("verb") == "check")
    assert set(checks["trial"]) == {f"{entry}-n4-b1" for entry in plan.suite.stages}
    assert checks["agreement"].null_count() == checks.height


def test_tasks_take_the_frames_of_their_trial_for_the_whole_movie(plan, tmp_path):
    run = RunFolder.create(tmp_path / "runs", plan)
    assert carry_out(run) == ()
    specs = [result_of(run, "segment-n2-b1", task).spec for task in ("w0", "w1")]
    assert [(spec.frames, spec.movie_frames) for spec in specs] == [((0, 2), 4), ((2, 4), 4)]
    # Outputs are kept of what feeds alone.
    kept = {trial.id for trial in plan.trials if run.output(trial).exists()}
    assert kept == {f"{entry}-n4-b1" for entry in plan.suite.stages}


def test_a_trial_without_what_feeds_it_is_skipped_and_others_are_not(make, tmp_path):
    run = RunFolder.create(tmp_path / "runs", make(scaling="weak", repeats=1, retries=0))
    incomplete = carry_out(run, failing("segment-n2-b1", "w0"))
    lost = {"segment-n2-b1", "contact-n1-b1", "contact-n2-b1", "track-n1-b1", "track-n2-b1"}
    # In strong scaling segment-n1-b1 would have nothing to be compared with.
    assert set(incomplete) == lost


@pytest.mark.slow
def test_the_report_of_a_run_knows_its_work(make, tmp_path):
    plan = make(workers=(1, 2, 4), scaling="weak", only=("register_denoise",))
    run = RunFolder.create(tmp_path / "runs", plan)
    _, results = benchmark(run, MockExecutor(), lambda _event: None)
    rows = results.configurations
    assert rows["scaling"].to_list() == ["weak"] * 3
    assert rows["work"].to_list() == [2, 4, 8]
    text = (run.report / "scaling_analysis.md").read_text()
    assert "- scaling: weak: each worker has 2 of the 8 frames at every N" in text
