"""Verdicts follow from bytes, from measures, and from what is missing."""

import pytest

from pyscale.validation.judging import MeasuredEntry, MeasuredTrial, judged
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


def test_other_data_prove_nothing():
    found = found_of("the movie is another", segment=[trial(ap=0.1)])
    assert verdicts(found) == {"segment": "cannot say", "track": "cannot say", "": "cannot say"}
    assert found.why == "the movie is another"
