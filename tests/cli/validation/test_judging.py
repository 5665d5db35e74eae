"""Verdicts follow from bytes, from measures, and from what is missing."""

import pytest

from pyscale.validation.judging import MeasuredEntry, MeasuredTrial, judged
from validated import FED_BY, OTHER, SAME, expected_of_two, found_of, gave, trial


def verdicts(found):
    return {stage.entry: stage.verdict for stage in found.stages} | {"": found.verdict}


def first(found):
    return found.stages[0]


def test_equal_bytes_are_identical_and_others_with_measures_near_enough_right():
    found = found_of()
    assert verdicts(found) == {"segment": "identical", "track": "identical", "": "right"}
    found = found_of(segment=[trial(sha256=OTHER, ap=0.909)])
    assert verdicts(found) == {"segment": "within tolerance", "track": "identical", "": "right"}
    assert first(found).other_files == ("out.tif",)
    found = found_of(segment=[trial(), trial(sha256=OTHER)])
    assert verdicts(found)["segment"] == "within tolerance"


@pytest.mark.parametrize("ap", [0.88, 0.92, float("nan"), float("inf")])
def test_a_measure_that_is_off_is_wrong_to_either_side(ap):
    found = found_of(segment=[trial(), trial(2, ap=ap)])
    assert verdicts(found) == {"segment": "wrong", "track": "identical", "": "wrong"}
    measure = first(found).measures[0]
    assert (measure.name, measure.workers, measure.is_right) == ("ap", 2, False)
    assert measure.value == (ap if ap < 1 else None), "what is no number is told as none"


def test_trials_that_disagree_or_lack_a_measure_are_wrong_and_those_after_say_so():
    found = found_of(segment=[trial(), trial(2, same=False)])
    assert first(found).disagreeing == (2,)
    assert found.verdict == "wrong"
    without = MeasuredTrial(1, {"out.tif": SAME}, {"ap": 0.9}, same=True)
    found = found_of(segment=[without])
    assert [measure.is_right for measure in first(found).measures] == [True, False]
    assert found.verdict == "wrong"
    found = found_of(segment=[trial(ap=0.1)], track=[trial(ap=0.2)])
    assert [stage.after for stage in found.stages] == [(), ("segment",)]


def test_a_stage_that_failed_leaves_the_whole_open_but_where_another_is_wrong():
    failed = {"track": MeasuredEntry([], "track-n1-b1/w0 failed: no laptrack")}
    found = judged(expected_of_two(), gave() | failed, FED_BY)
    assert verdicts(found) == {"segment": "identical", "track": "not run", "": "cannot say"}
    assert found.stages[1].why == "track-n1-b1/w0 failed: no laptrack"
    wrong = gave(segment=[trial(ap=0)]) | failed
    assert judged(expected_of_two(), wrong, FED_BY).verdict == "wrong"


def test_what_nobody_asked_for_is_left_out_and_the_rest_judged():
    measured = gave()
    del measured["track"]
    found = judged(expected_of_two(), measured, FED_BY)
    assert verdicts(found) == {"segment": "identical", "track": "left out", "": "right"}
    assert judged(expected_of_two(), {}, FED_BY).verdict == "cannot say"


def test_other_data_prove_nothing():
    found = found_of("the movie is another", segment=[trial(ap=0.1)])
    assert verdicts(found) == {"segment": "cannot say", "track": "cannot say", "": "cannot say"}
    assert found.why == "the movie is another"
