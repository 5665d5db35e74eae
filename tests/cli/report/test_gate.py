import polars as pl

from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.sentences import not_to_be_trusted


def said_of(builder):
    return list(not_to_be_trusted(configurations(trial_table(builder.tasks, builder.spans))))


def disagreeing(new_run, scores):
    builder = new_run().trial("track", [{"compute": 80.0}], agreement=1.0)
    for block, score in enumerate(scores):
        told = {"agreement": score, "same": score >= 0.999}
        builder.trial("track", [{"compute": 40.0}] * 2, block=block, **told)
    return builder


def test_the_sentence_names_stage_n_score_tolerance_and_measure(new_run):
    assert said_of(disagreeing(new_run, [1.0, 0.4, 0.9])) == [
        "track at N = 2 is invalid: in the worst trial its output agrees with the baseline's by "
        "0.4000, and 0.999 is the least that counts as the same (the score is: pairs that both "
        "have)."
    ]


def test_a_score_just_below_the_tolerance_does_not_look_like_it_and_one_within_has_none(new_run):
    (sentence,) = said_of(disagreeing(new_run, [0.99899]))
    assert "by 0.99899, and 0.999 is" in sentence
    assert said_of(disagreeing(new_run, [1.0, 0.9991])) == []


def test_a_check_that_failed_leaves_it_open(new_run):
    builder = new_run().trial("track", [{"compute": 80.0}], check="failed")
    assert said_of(builder) == [
        "track at N = 1 may be invalid: the comparison of its output with the baseline's failed."
    ]


def test_two_devices_of_a_stage_are_named_apart(new_run):
    builder = new_run()
    for device in ("cpu", "cuda"):
        same = device == "cpu"
        builder.trial("segment", [{"compute": 1.0}], device=device, agreement=0.5, same=same)
    assert [sentence.split(" is ")[0] for sentence in said_of(builder)] == [
        "segment (cuda) at N = 1"
    ]


def test_doubts_of_other_kinds_are_no_reason_to_fail(thin):
    table = pl.DataFrame({"stage": "track", "workers": [1, 2], "wall_s": [9.0, 5.0]})
    for found in (thin.configurations, configurations(trials_from_wall_times(table))):
        assert found["flags"].list.len().min() > 0
        assert list(not_to_be_trusted(found)) == []
