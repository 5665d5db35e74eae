"""Outputs of two points of a grid are set beside each other, and neither is wrong for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscale.benchmark import Outcome, execute
from pyscale.executors.mock import MockEnd, MockExecutor
from pyscale.plan import Trial
from pyscale.planning import Dataset, make_plan
from pyscale.settings import Settings
from pyscale.status import run_status
from pyscale.store.folder import RunFolder, new_run_id
from pyscale.store.journal import Journal
from pyscale.store.taskfiles import read_task
from pyscale.suite import Suite, SuiteStage
from pyscale_stages.contract import TaskResult, TaskSpec

BASE, WIDE, GPU = "segment_cpu", "segment_three_threads", "segment_cuda"
FRAMES = {"frames": "movie"}


@pytest.fixture
def run(tmp_path: Path, movie: Path) -> RunFolder:
    """A run of one stage on two devices, and on one of them with more threads too."""
    stages = {
        BASE: SuiteStage(
            stage="segment", inputs=FRAMES, family="segment", device="cpu", truth="specimen"
        ),
        WIDE: SuiteStage(stage="segment", inputs=FRAMES, family="segment", device="cpu", threads=3),
        GPU: SuiteStage(
            stage="segment", inputs=FRAMES, family="segment", device="cuda", beside=BASE
        ),
    }
    plan = make_plan(
        Suite(name="devices", summary="", stages=stages),
        Dataset(movie, frames=8, truth=tmp_path),
        run_id=new_run_id(),
        settings=Settings(repeats=2).model_dump(mode="json"),
        workers=(1, 2),
    )
    return RunFolder.create(tmp_path / "runs", plan)


def carry_out(run: RunFolder, executor: MockExecutor) -> Outcome:
    return execute(run, executor, lambda _event: None)


def failing(trial: str, task: str, code: int = 1, **kwargs: bool) -> MockExecutor:
    def behaviour(this_trial: str, this_task: str, _spec: TaskSpec) -> MockEnd:
        return MockEnd(returncode=code if (this_trial, this_task) == (trial, task) else 0)

    return MockExecutor(behaviour, **kwargs)


def result(run: RunFolder, trial: str, task: str) -> TaskResult:
    found = read_task(run.task(run.plan.trial(trial), task)).result
    assert found is not None
    return found


def beside(run: RunFolder) -> list[Trial]:
    return [trial for trial in run.plan.trials if trial.beside_trial]


def test_its_output_is_compared_with_that_of_the_same_work_and_with_no_truth(
    run: RunFolder,
) -> None:
    assert carry_out(run, MockExecutor()).incomplete == ()
    spec = result(run, f"{GPU}-n2-b1", "beside").spec
    base, own = (run.plan.trial(f"{entry}-n2-b1") for entry in (BASE, GPU))
    assert (spec.verb, spec.device, spec.output, spec.truth) == ("check", "cpu", None, None)
    assert spec.inputs == (("reference", run.output(base)), ("other", run.output(own)))


def test_what_another_is_set_beside_is_kept_and_the_rest_is_not(run: RunFolder) -> None:
    carry_out(run, MockExecutor())
    kept = {folder.parent.parent.name for folder in run.path.glob("tasks/*/*/out")}
    entries = (BASE, WIDE, GPU)
    assert kept == {*(f"{entry}-n1-b1" for entry in entries), f"{BASE}-n2-b1"}


def test_outputs_that_differ_are_no_failure(run: RunFolder) -> None:
    differing = MockExecutor(lambda _trial, task, _spec: MockEnd(agrees=task != "beside"))
    assert carry_out(run, differing).incomplete == ()
    agreement = result(run, f"{GPU}-n1-b1", "beside").agreement
    assert agreement is not None
    assert not agreement.same


def test_outputs_that_cannot_be_compared_fail_that_trial_alone(run: RunFolder) -> None:
    executor = failing(f"{GPU}-n2-b1", "beside")
    assert carry_out(run, executor).incomplete == (f"{GPU}-n2-b1",)
    assert executor.started.count((f"{GPU}-n2-b1", "beside")) == 2
    assert executor.started.count((f"{GPU}-n2-b1", "w0")) == 1, "what was timed stays"
    again = MockExecutor()
    assert carry_out(run, again).incomplete == ()
    assert again.started == [(f"{GPU}-n2-b1", "beside")]


def test_a_trial_with_nothing_to_be_set_beside_is_timed_all_the_same(run: RunFolder) -> None:
    executor = failing(f"{BASE}-n2-b1", "w0", code=2)
    assert set(carry_out(run, executor).incomplete) == {f"{BASE}-n2-b1", f"{GPU}-n2-b1"}
    assert (f"{GPU}-n2-b1", "merge") in executor.started
    assert (f"{GPU}-n2-b1", "beside") not in executor.started
    (told,) = (
        event.detail
        for event in Journal(run.journal_file).read()
        if (event.kind, event.trial) == ("trial_failed", f"{GPU}-n2-b1")
    )
    assert told.startswith(f"beside: its counterpart, the output of {BASE}-n2-b1, is missing")
    again = MockExecutor()
    assert carry_out(run, again).incomplete == ()
    assert (f"{GPU}-n2-b1", "beside") in again.started
    assert (f"{GPU}-n2-b1", "w0") not in again.started


def test_a_task_beside_that_goes_on_alone_is_taken_up(run: RunFolder) -> None:
    class Killed(BaseException):
        pass

    def dies(_trial: str, task: str, _spec: TaskSpec) -> MockEnd:
        if task == "beside":
            raise Killed
        return MockEnd()

    with pytest.raises(Killed):
        carry_out(run, MockExecutor(dies, on_this_node=False))
    (trial, *_) = [t for t in beside(run) if run.task(t, "beside").exists()]
    again = MockExecutor(on_this_node=False, takes_up=True)
    assert carry_out(run, again).incomplete == ()
    assert again.taken_up == [(trial.id, "beside")]


def test_each_trial_has_the_threads_of_its_point(run: RunFolder) -> None:
    executor = MockExecutor()
    carry_out(run, executor)
    for entry, threads in ((BASE, 1), (WIDE, 3)):
        assert result(run, f"{entry}-n2-b1", "w0").spec.threads == threads
        batches = [batch for batch in executor.batches if batch.trial.entry == entry]
        assert {batch.threads for batch in batches} == {threads}


def test_points_are_known_by_their_family_where_a_run_stands(run: RunFolder) -> None:
    assert {row.family for row in run_status(run).configurations} == {"segment"}
