"""Whether a number can be trusted, by the flags of what it rests on."""

import pytest

from pyscale.analysis.trust import trust_in
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
