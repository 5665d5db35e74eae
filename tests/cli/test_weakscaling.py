"""A run in which the movie grows with N, from its plan to its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pyscale.benchmark import benchmark, execute
from pyscale.executors.mock import MockEnd, MockExecutor
from pyscale.plan import Plan
from pyscale.planning import even_windows
from pyscale.startorder import earlier_trials
from pyscale.store.folder import RunFolder
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import read_task
from pyscale_stages.contract import TaskSpec

PlanMaker = Callable[..., Plan]


@pytest.fixture
def plan(make: PlanMaker) -> Plan:
    """The pipeline on a movie of eight frames."""
    return make(workers=(1, 2, 4), scaling="weak")


def test_each_worker_has_two_frames_at_every_n(plan: Plan) -> None:
    for trial in plan.trials:
        assert trial.windows == even_windows(2 * trial.workers, trial.workers)
        assert trial.movie_frames == 2 * trial.workers


def test_in_strong_scaling_nothing_is_left_of_the_movie(make: PlanMaker) -> None:
    assert {trial.movie_frames for trial in make().trials} == {None}


def test_windows_of_one_worker_are_as_many_at_every_n(make: PlanMaker) -> None:
    trials = make(workers=(1, 2, 4), scaling="weak", chunks_per_worker=2).trials
    assert {len(trial.windows) / trial.workers for trial in trials} == {2}


@pytest.mark.parametrize("seed", range(20))
def test_later_stages_read_the_trial_that_had_the_most_frames(make: PlanMaker, seed: int) -> None:
    plan = make(workers=(1, 2, 4), scaling="weak", seed=seed)
    seen: set[str] = set()
    for trial in plan.trials:
        sources = [item.from_trial for item in trial.inputs if item.from_trial]
        assert all(source.endswith("-n4-b1") for source in sources)
        assert seen.issuperset(sources)
        seen.add(trial.id)


def test_the_first_trial_of_the_first_stage_may_be_at_any_n(make: PlanMaker) -> None:
    plans = [make(workers=(1, 2, 4), scaling="weak", seed=seed) for seed in range(20)]
    assert {plan.trials[0].workers for plan in plans} == {1, 2, 4}


def test_stages_that_only_feed_run_once_at_the_n_that_feeds(make: PlanMaker) -> None:
    trials = make(workers=(1, 2, 4), scaling="weak", only=("contact",)).trials
    fed = sorted(trial.id for trial in trials if trial.entry != "contact")
    assert fed == ["register_denoise-n4-b1", "segment-n4-b1"]


def test_no_output_is_compared_with_that_of_another_n(plan: Plan) -> None:
    assert all("check" not in trial.tasks for trial in plan.trials)


def test_where_the_truth_is_known_the_quality_of_what_feeds_is_measured(plan: Plan) -> None:
    trials = [trial.model_copy(update={"truth": Path("truth")}) for trial in plan.trials]
    checked = {trial.id for trial in trials if "check" in trial.tasks}
    entries = ("register_denoise", "segment", "contact", "track")
    assert checked == {f"{entry}-n4-b1" for entry in entries}


def test_windows_are_ordered_by_trials_that_had_all_their_frames(make: PlanMaker) -> None:
    plan = make(workers=(1, 2, 4), scaling="weak", chunks_per_worker=2, repeats=1)
    for trial in plan.trials:
        assert all(other.workers >= trial.workers for other in earlier_trials(plan, trial))


def test_tasks_take_the_frames_of_their_trial_for_the_whole_movie(
    plan: Plan, tmp_path: Path
) -> None:
    run = RunFolder.create(tmp_path / "runs", plan)
    assert execute(run, MockExecutor(), lambda _event: None).incomplete == ()
    trial = plan.trial("segment-n2-b1")
    results = [read_task(run.task(trial, task)).result for task in trial.window_tasks]
    found = [(result.spec.frames, result.spec.movie_frames) for result in results if result]
    assert found == [((0, 2), 4), ((2, 4), 4)]


def test_outputs_are_kept_of_what_feeds_alone(plan: Plan, tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "runs", plan)
    execute(run, MockExecutor(), lambda _event: None)
    kept = {trial.id for trial in plan.trials if run.output(trial).exists()}
    assert kept == {f"{entry}-n4-b1" for entry in plan.suite.stages}


def test_a_trial_without_what_feeds_it_is_skipped_and_others_are_not(
    make: PlanMaker, tmp_path: Path
) -> None:
    def behaviour(trial: str, _task: str, _spec: TaskSpec) -> MockEnd:
        return MockEnd(returncode=int(trial == "segment-n2-b1"))

    plan = make(scaling="weak", repeats=1, retries=0)
    outcome = execute(
        RunFolder.create(tmp_path / "runs", plan), MockExecutor(behaviour), lambda _event: None
    )
    lost = {"segment-n2-b1", "contact-n1-b1", "contact-n2-b1", "track-n1-b1", "track-n2-b1"}
    # In strong scaling segment-n1-b1 would have nothing to be compared with.
    assert set(outcome.incomplete) == lost


@pytest.mark.slow
def test_the_report_of_a_run_knows_its_work(make: PlanMaker, tmp_path: Path) -> None:
    def behaviour(_trial: str, _task: str, spec: TaskSpec) -> MockEnd:
        start, stop = spec.frames or (0, 0)
        return MockEnd(wall_s=1.0 + stop - start)

    plan = make(workers=(1, 2, 4), scaling="weak", only=("register_denoise",))
    run = RunFolder.create(tmp_path / "runs", plan)
    _, results = benchmark(run, MockExecutor(behaviour), lambda _event: None)
    rows = results.configurations
    assert rows["scaling"].to_list() == ["weak"] * 3
    assert rows["work"].to_list() == [2, 4, 8]
    # 3 s of a window and, where there are several, 1 s of a merge.
    assert rows["wall_s"].to_list() == [3, 4, 4]
    assert rows["efficiency"].to_list() == pytest.approx([1, 3 / 4, 3 / 4])
    assert rows["speedup"].to_list() == pytest.approx([1, 2 * 3 / 4, 4 * 3 / 4])
    text = (run.report / "scaling_analysis.md").read_text()
    assert "- scaling: weak: each worker has 2 of the 8 frames at every N" in text


def test_a_check_for_quality_alone_is_no_agreement(plan: Plan, tmp_path: Path) -> None:
    """What feeds is checked against itself, where the truth is known."""
    truth = tmp_path / "truth"
    trials = tuple(trial.model_copy(update={"truth": truth}) for trial in plan.trials)
    run = RunFolder.create(tmp_path / "runs", plan.model_copy(update={"trials": trials}))
    execute(run, MockExecutor(), lambda _event: None)
    checks = build_tables(run).tasks.filter(pl.col("verb") == "check")
    assert set(checks["trial"]) == {f"{entry}-n4-b1" for entry in plan.suite.stages}
    assert checks["agreement"].null_count() == checks.height
