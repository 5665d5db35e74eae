"""Verdicts follow from bytes, from measures, and from what is missing."""

import pytest

from mockexecutor import MockEnd
from mockruns import tell
from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.planning.suite import load_suite, suite_names
from pyscale.resources import shipped
from pyscale.store.folder import RunFolder
from pyscale.validation import judging
from pyscale.validation.judging import (
    MeasuredEntry,
    MeasuredTrial,
    expected_file,
    judged,
    load_expected,
    read_expected,
    refuse_other_work,
)
from pyscale_stages.contract import TaskError
from refusals import refused
from validated import OTHER, SAME, expected_of_two, found_of, gave, trial


def verdicts(found):
    return {stage.entry: stage.verdict for stage in found.stages} | {"": found.verdict}


def first(found):
    return found.stages[0]


def test_equal_bytes_are_identical_and_others_with_measures_near_enough_right():
    found = found_of()
    assert verdicts(found) == {"segment": "identical", "track": "identical", "": "right"}
    found = found_of(segment=[trial(sha256=OTHER, ap=0.909)])
    assert verdicts(found) == {"segment": "right", "track": "identical", "": "right"}
    assert first(found).other_files == ("out.tif",)
    found = found_of(segment=[trial(), trial(sha256=OTHER)])
    assert verdicts(found)["segment"] == "right"


@pytest.mark.parametrize("ap", [0.88, float("nan"), float("inf")])
def test_a_measure_beyond_its_bound_is_wrong(ap):
    found = found_of(segment=[trial(), trial(2, ap=ap)])
    assert verdicts(found) == {"segment": "wrong", "track": "identical", "": "wrong"}
    assert first(found).beyond == (f"ap is {ap:g} at N = 2, expected at least 0.89",)


def test_a_measure_may_have_a_bound_to_either_side():
    assert found_of(segment=[trial(ap=0.99)]).verdict == "right"
    for objects in (98, 102):
        assert found_of(segment=[trial(objects=objects)]).verdict == "wrong"


def test_trials_that_disagree_or_lack_a_measure_are_wrong():
    found = found_of(segment=[trial(), trial(2, same=False)])
    assert first(found).beyond == ("its output at N = 2 disagrees with the run's own baseline",)
    assert found.verdict == "wrong"
    without = MeasuredTrial(1, {"out.tif": SAME}, {"objects": 100}, same=True)
    found = found_of(segment=[without])
    assert first(found).beyond == ("ap has no value at N = 1, expected at least 0.89",)
    assert found.verdict == "wrong"


def test_a_stage_that_failed_leaves_the_whole_open_but_where_another_is_wrong():
    failed = {"track": MeasuredEntry([], "track-n1-b1/w0 failed: no laptrack")}
    found = judged(expected_of_two(), gave() | failed)
    assert verdicts(found) == {"segment": "identical", "track": "not run", "": "cannot say"}
    assert found.stages[1].why == "track-n1-b1/w0 failed: no laptrack"
    wrong = gave(segment=[trial(ap=0)]) | failed
    assert judged(expected_of_two(), wrong).verdict == "wrong"


def test_what_nobody_asked_for_is_left_out_and_the_rest_judged():
    measured = gave()
    del measured["track"]
    found = judged(expected_of_two(), measured)
    assert verdicts(found) == {"segment": "identical", "track": "left out", "": "right"}
    assert judged(expected_of_two(), {}).verdict == "cannot say"


@pytest.fixture
def text():
    """A file of expected results that is right."""
    return expected_file("validation").read_text(encoding="utf-8")


def read(folder, text):
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_expected(path)


@pytest.mark.parametrize("name", [name for name in suite_names() if load_suite(name).expected])
def test_what_a_shipped_suite_expects_is_of_its_own_data_and_stages(name):
    suite = load_suite(name)
    assert suite.expected is not None
    expected = load_expected(suite.expected)
    assert list(expected.stages) == list(suite.stages)
    assert expected.dataset == suite.settings["data"]
    made = load_registry(shipped("config")).get(expected.dataset)
    assert made.synth is not None, "it must need no network"
    assert made.synth.frames == expected.frames
    assert list(expected.inputs) == [made.movie]


def test_a_file_that_is_wrong_is_refused_in_a_sentence(tmp_path, text):
    lines = text.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("ap_iou50 ="))
    for wrong in (
        text.replace(".at_least]", ".at_leest]", 1),
        "\n".join([*lines[:place], "ap_iou50 = nan", *lines[place + 1 :]]),
        "dataset = ",
    ):
        with refused(UserError):
            read(tmp_path, wrong)


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with refused(UserError):
        load_expected("mine")


def test_the_suite_passes_as_it_is_and_with_what_decides_no_result(plan, make_of):
    refuse_other_work(plan(workers=(1, 2)))
    chosen = {"segment": {"calls": 2}}
    refuse_other_work(plan(stages=chosen, repeats=6, cpus_per_worker=2))
    # One that expects nothing may have any parameter.
    changed = {"segment": {"flow_threshold": 0.9}}
    refuse_other_work(make_of(load_suite("pipeline"), stages=changed, seed=3))


@pytest.mark.parametrize(
    "changes",
    [
        {"data": "mine"},
        {"seed": 3},
        {"scaling": "weak"},
        {"stages": {"segment": {"flow_threshold": 0.9}}},
        {"stages": {"segment": {"diameter_px": 30}}},
        {"stages": {"track": {"overlap_frames": 4}}},
    ],
    ids=str,
)
def test_other_work_is_named_and_refused(plan, changes):
    with refused(UserError):
        refuse_other_work(plan(**changes))


@pytest.fixture
def validated(expected, monkeypatch):
    """Judge a run on the small movie."""
    monkeypatch.setattr(judging, "load_expected", lambda _name: expected)

    def of(run):
        found = judging.validation_of(run)
        assert found is not None
        return found

    return of


def verdicts_of(found):
    return [stage.verdict for stage in found.stages]


def test_a_right_run_is_identical_at_every_n_and_a_wrong_measure_in_one_record_is_found(
    plan, carried_out, validated
):
    run = carried_out(plan(workers=(1, 2)))
    found = validated(run)
    assert verdicts_of(found) == ["identical"] * 4
    assert {stage.trials for stage in found.stages} == {4}
    assert found.verdict == "right"
    tell(run, "segment-n1-b2", "check", quality={"ap_iou50": 0.2})
    assert verdicts_of(validated(run)) == ["identical", "wrong", "identical", "identical"]


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
    assert verdicts_of(found) == ["identical", "not run", "not run", "not run"]
    assert "cellpose is not installed" in found.stages[1].why
    assert found.verdict == "cannot say"


def test_another_movie_proves_nothing(plan, carried_out, expected, monkeypatch, validated):
    other = expected.model_copy(update={"inputs": {"movie.ome.tif": "0" * 64}})
    monkeypatch.setattr(judging, "load_expected", lambda _name: other)
    found = validated(carried_out(plan(repeats=1)))
    assert found.verdict == "cannot say"
    assert "NumPy" in found.why
    assert verdicts_of(found) == ["cannot say"] * 4


def test_a_suite_that_expects_nothing_has_no_validation(make_of, tmp_path):
    run = RunFolder.create(tmp_path / "runs", make_of(load_suite("pipeline")))
    assert judging.validation_of(run) is None
