import pytest

from atleastone import some
from pyscale.analysis.flags import FLAGS
from pyscale.analysis.trust import Raised
from pyscale.analysis.trust import graded as graded_by_rule


def graded(raised, *, trials=6, compared=True, **others):
    return graded_by_rule(raised, trials=trials, compared=compared, **others)


@pytest.mark.parametrize(
    ("weight", "of_an_answer", "elsewhere"),
    [
        ("invalid", "no", "with care"),
        ("unchecked", "no", "with care"),
        ("doubt", "with care", "with care"),
        ("neutral", "yes", "yes"),
    ],
)
def test_the_grade_follows_from_the_weight_of_a_flag(weight, of_an_answer, elsewhere):
    for code in some(code for code, flag in FLAGS.items() if flag.weight == weight):
        assert graded([Raised(code)]).grade == of_an_answer
        assert graded([Raised(code, is_decisive=False)]).grade == elsewhere


def test_an_eviction_without_proof_costs_trust_where_rates_are_the_answer():
    unproved = [Raised("evicted-unverified", " (N = 2)")]
    assert graded(unproved).notes == ("cold cache not proven (N = 2)",)
    assert graded(unproved, of_rates=True).reasons == ("cold cache not proven (N = 2)",)


def test_the_gravest_grade_is_given_with_its_own_reasons_and_all_notes():
    raised = [Raised("few-repeats"), Raised("drift"), Raised("check-failed")]
    others = {"in_favour": ["6 trials"], "notes": ["so"]}
    trusted = graded(raised, reasons=["a rival is close"], trials=5, **others)
    assert (trusted.grade, trusted.reasons) == ("no", ("the check of the output failed",))
    assert trusted.notes == ("only 5 trials", "so")
    careful = graded(raised[:2], reasons=["a rival is close"], in_favour=["6 trials"])
    assert careful.reasons == ("wall times drifted over the run", "a rival is close")
    assert graded(raised[:1], in_favour=["6 trials"]).reasons == ("6 trials",)


@pytest.mark.parametrize(
    ("trials", "compared", "grade", "reasons"),
    [
        (6, True, "yes", ("fine",)),
        (1, True, "untested", ("only 1 trial",)),
        (5, True, "untested", ("only 5 trials",)),
        (6, False, "untested", ("outputs not compared",)),
        (2, False, "untested", ("only 2 trials", "outputs not compared")),
        (6, None, "yes", ("fine",)),
    ],
)
def test_nothing_is_trusted_without_a_known_confidence_and_compared_outputs(
    trials, compared, grade, reasons
):
    trusted = graded((), trials=trials, compared=compared, in_favour=["fine"])
    assert (trusted.grade, trusted.reasons, trusted.notes) == (grade, reasons, ())


def test_a_doubt_of_a_configuration_and_of_its_trials_is_told_once():
    assert len(graded([Raised("disturbed"), Raised("disturbed")]).reasons) == 1
