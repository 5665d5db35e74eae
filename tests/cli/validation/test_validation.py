"""From the records of a run to its validation."""

import pytest

from mockexecutor import MockEnd
from mockruns import tell
from pyscale.planning.suite import load_suite
from pyscale.store.folder import RunFolder
from pyscale.validation import judging
from pyscale_stages.contract import TaskError


@pytest.fixture
def validated(expected, monkeypatch):
    """Judge a run on the small movie."""
    monkeypatch.setattr(judging, "load_expected", lambda _name: expected)

    def of(run):
        found = judging.validation_of(run)
        assert found is not None
        return found

    return of


def verdicts(found):
    return [stage.verdict for stage in found.stages]


def test_a_right_run_is_identical_at_every_n_and_a_wrong_measure_in_one_record_is_found(
    plan, carried_out, validated
):
    run = carried_out(plan(workers=(1, 2)))
    found = validated(run)
    assert verdicts(found) == ["identical"] * 4
    assert {stage.trials for stage in found.stages} == {4}
    assert found.verdict == "right"
    tell(run, "segment-n1-b2", "check", quality={"ap_iou50": 0.2})
    assert verdicts(validated(run)) == ["identical", "wrong", "identical", "identical"]


def test_a_record_whose_quality_is_no_number_proves_nothing_and_says_so(
    plan, carried_out, validated
):
    run = carried_out(plan(repeats=1))
    tell(run, "segment-n1-b1", "check", quality={"ap_iou50": float("nan")})
    found = validated(run)
    assert found.stages[1].verdict == "not run"
    assert "has an invalid record: 'quality.ap_iou50'" in found.stages[1].why
    assert found.verdict == "cannot say"


def test_a_missing_library_leaves_its_stage_and_those_after_it_out(plan, carried_out, validated):
    def without_cellpose(_trial, _task, spec):
        error = TaskError(kind="MissingPart", message="cellpose is not installed", exit_code=3)
        return MockEnd(returncode=3, error=error) if spec.stage == "segment" else MockEnd()

    found = validated(carried_out(plan(repeats=1), without_cellpose))
    assert verdicts(found) == ["identical", "not run", "not run", "not run"]
    assert "cellpose is not installed" in found.stages[1].why
    assert found.verdict == "cannot say"


def test_another_movie_proves_nothing(plan, carried_out, expected, monkeypatch, validated):
    other = expected.model_copy(update={"inputs": {"movie.ome.tif": "0" * 64}})
    monkeypatch.setattr(judging, "load_expected", lambda _name: other)
    found = validated(carried_out(plan(repeats=1)))
    assert found.verdict == "cannot say"
    assert "NumPy" in found.why
    assert verdicts(found) == ["cannot say"] * 4


def test_a_suite_that_expects_nothing_has_no_validation(make_of, tmp_path):
    run = RunFolder.create(tmp_path / "runs", make_of(load_suite("pipeline")))
    assert judging.validation_of(run) is None
