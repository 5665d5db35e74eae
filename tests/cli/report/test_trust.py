"""Whether a number can be trusted, by the flags of what it rests on."""

import pytest

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
        # Outputs that were not compared are a neutral note, and weak scaling has none to compare.
        ({1: [9.0] * 6, 2: [4.6] * 6}, {}, "yes", "outputs not checked"),
        ({1: RISING, 2: RISING}, {"movie_frames": lambda count, _: 80 * count}, "yes", None),
    ],
)
def test_the_grade_of_a_stage_has_its_reason_or_a_note(judged, walls_s, of_all, trust, told):
    track = judged(walls_s, **of_all)
    assert track.trust == trust
    assert told in (*track.reasons, *track.notes) if told else track.notes == ()


@pytest.mark.parametrize(("at_2_s", "trust"), [([6.0, 7.0], "with care"), ([4.6, 4.6], "yes")])
def test_few_trials_cost_trust_only_where_their_ranges_leave_another_n_the_better(
    judged, at_2_s, trust
):
    assert judged({1: [9.0, 9.0], 2: at_2_s}, agreement=1.0).trust == trust


def test_another_n_that_computes_something_else_asks_for_care(broken):
    segment, track = of_stage(broken, "segment"), of_stage(broken, "track")
    assert (track.trust, track.best_value) == ("with care", 2)
    assert set(track.reasons) - set(segment.reasons) == {
        "the result differs from what it must equal (N = 4)"
    }


def test_the_speedup_that_is_shown_counts_though_another_n_was_chosen(judged):
    track = judged({1: [9.0] * 6, 2: [8.5]}, agreement=1.0)
    assert (track.best_value, track.shown_at) == (1, 2)
    assert "fewer than 6 trials (N = 2)" in track.notes
