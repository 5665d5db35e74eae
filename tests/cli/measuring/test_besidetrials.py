import pytest

from mockexecutor import MockEnd, MockExecutor
from mockruns import carry_out, events_of, failing, plan_of, result_of
from pyscale.planning.planentry import Dataset
from pyscale.planning.suite import Suite, SuiteStage
from pyscale.progress.status import run_status
from pyscale.store.folder import RunFolder

BASE, WIDE, GPU = "segment_cpu", "segment_three_threads", "segment_cuda"
FRAMES = {"frames": "movie"}


@pytest.fixture
def run(tmp_path, movie):
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
    suite = Suite(name="devices", summary="", stages=stages)
    dataset = Dataset(movie, frames=8, truth=tmp_path)
    plan = plan_of(suite, dataset, tmp_path / "runs", workers=(1, 2))
    return RunFolder.create(tmp_path / "runs", plan)


def test_its_output_is_compared_with_that_of_the_same_work_and_with_no_truth(run):
    executor = MockExecutor()
    assert carry_out(run, executor) == ()
    spec = result_of(run, f"{GPU}-n2-b1", "beside").spec
    base, own = (run.plan.trial(f"{entry}-n2-b1") for entry in (BASE, GPU))
    assert (spec.verb, spec.device, spec.output, spec.truth) == ("check", "cpu", None, None)
    assert spec.inputs == (("reference", run.output(base)), ("other", run.output(own)))
    # What another is set beside is kept, and the rest is not.
    kept = {folder.parent.parent.name for folder in run.path.glob("tasks/*/*/out")}
    assert kept == {*(f"{entry}-n1-b1" for entry in (BASE, WIDE, GPU)), f"{BASE}-n2-b1"}
    # Each trial has the threads of its point.
    for entry, threads in ((BASE, 1), (WIDE, 3)):
        assert result_of(run, f"{entry}-n2-b1", "w0").spec.threads == threads
        batches = [batch for batch in executor.batches if batch.trial.entry == entry]
        assert {batch.threads for batch in batches} == {threads}
    assert {row.family for row in run_status(run).configurations} == {"segment"}


def test_outputs_that_differ_are_no_failure(run):
    differing = MockExecutor(lambda _trial, task, _spec: MockEnd(agrees=task != "beside"))
    assert carry_out(run, differing) == ()
    agreement = result_of(run, f"{GPU}-n1-b1", "beside").agreement
    assert agreement is not None
    assert not agreement.same


def test_outputs_that_cannot_be_compared_fail_that_trial_alone(run):
    executor = failing(f"{GPU}-n2-b1", "beside")
    assert carry_out(run, executor) == (f"{GPU}-n2-b1",)
    assert executor.started.count((f"{GPU}-n2-b1", "beside")) == 2
    assert executor.started.count((f"{GPU}-n2-b1", "w0")) == 1, "what was timed stays"
    again = MockExecutor()
    assert carry_out(run, again) == ()
    assert again.started == [(f"{GPU}-n2-b1", "beside")]


def test_a_trial_with_nothing_to_be_set_beside_is_timed_all_the_same(run):
    executor = failing(f"{BASE}-n2-b1", "w0", code=2)
    assert set(carry_out(run, executor)) == {f"{BASE}-n2-b1", f"{GPU}-n2-b1"}
    assert (f"{GPU}-n2-b1", "merge") in executor.started
    assert (f"{GPU}-n2-b1", "beside") not in executor.started
    (told,) = events_of(run, "trial_failed", trial=f"{GPU}-n2-b1")
    missing = f"beside: its counterpart, the output of {BASE}-n2-b1, is missing"
    assert told.detail.startswith(missing)
    again = MockExecutor()
    assert carry_out(run, again) == ()
    assert (f"{GPU}-n2-b1", "beside") in again.started
    assert (f"{GPU}-n2-b1", "w0") not in again.started
