"""Whether a number can be trusted, by the flags of what it rests on."""

import pytest

from atleastone import some
from pyscale.analysis.flags import FLAGS
from pyscale.analysis.trust import Raised, trust_in
from pyscale.analysis.trust import graded as graded_by_rule
from pyscale.report.bottomline import bottom_line


def of_stage(results, name="track"):
    return next(line for line in bottom_line(results).stages if line.name == name)


@pytest.fixture
def judged(new_run):
    """Judge track, where each N takes so long in each block; other things are told of every N."""

    def judge(walls_s, **of_all):
        builder = new_run()
        for count, blocks in walls_s.items():
            own = {"counts": (count,), "blocks": len(blocks)} | of_all
            builder.curve("track", lambda _, block, blocks=blocks: blocks[block], **own)
        return of_stage(builder.results())

    return judge


RISING = [4.6 + 0.01 * block for block in range(6)]
SLOWER = [2 * wall_s for wall_s in RISING]


@pytest.mark.parametrize(
    ("walls_s", "of_all", "trust", "told"),
    [
        (
            {1: [9.0, 9.0], 2: [6.0, 7.0]},
            {"agreement": 1.0},
            *("with care", "another N may be better: times too close for so few trials"),
        ),
        (
            {1: [9.0] * 2, 2: [5.0] * 2},
            {
                "agreement": lambda count, _: count / 2,
                "same": lambda count, block: count == 2 or block == 0,
            },
            *("no", "the baseline does not agree with itself"),
        ),
        # Of unequal numbers of trials the smallest is told.
        ({1: SLOWER * 2, 2: RISING}, {"agreement": 1.0}, "yes", "6 trials of each"),
        ({1: [9.0], 2: [4.6]}, {"agreement": 1.0}, "untested", "only 1 trial"),
        # Outputs that were not compared, as in weak scaling, may be of other work.
        ({1: [9.0] * 6, 2: [4.6] * 6}, {}, "untested", "outputs not compared"),
        (
            {1: RISING, 2: RISING},
            {"movie_frames": lambda count, _: 80 * count},
            *("untested", "outputs not compared"),
        ),
        (
            {1: SLOWER, 2: RISING, 4: RISING},
            {"agreement": lambda count, _: None if count == 4 else 1.0},
            *("yes", "outputs not compared (N = 4)"),
        ),
    ],
)
def test_the_grade_of_a_stage_has_its_reason_or_a_note(judged, walls_s, of_all, trust, told):
    track = judged(walls_s, **of_all)
    assert track.trust == trust
    assert told in (*track.reasons, *track.notes)


def test_outputs_agree_at_every_n_only_where_no_check_failed(full):
    rows = full.configurations.filter(stage="segment").to_dicts()
    choice = next(c for c in full.choices if (c.stage, c.objective) == ("segment", "knee"))
    assert rows[-1]["workers"] == 8
    here = choice.model_copy(update={"workers": 4})

    def favour(flags):
        trusted = trust_in([*rows[:-1], rows[-1] | {"flags": flags}], here, 4)
        assert trusted.grade == "yes"
        return (*trusted.reasons, *trusted.notes)

    assert "same bytes at every N" in favour([])
    told = favour(["check-failed"])
    assert not any("every N" in one for one in told)
    assert "outputs not compared (N = 8)" in told


def test_another_n_that_computes_something_else_asks_for_care(broken):
    segment, track = of_stage(broken, "segment"), of_stage(broken, "track")
    assert (track.trust, track.best_value) == ("with care", 2)
    assert set(track.reasons) - set(segment.reasons) == {
        "the result differs from what it must equal (N = 4)"
    }


def test_the_speedup_that_is_shown_counts_though_another_n_was_chosen(judged):
    track = judged({1: [9.0] * 6, 2: [8.5]}, agreement=1.0)
    assert (track.best_value, track.shown_at) == (1, 2)
    assert track.reasons == ("only 1 trial",)


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


def test_a_doubt_of_a_configuration_and_of_its_trials_is_told_once():
    assert len(graded([Raised("disturbed"), Raised("disturbed")]).reasons) == 1
