"""Whether a number can be trusted, by the flags of what it rests on."""

import pytest

from pyscale.report.bottomline import bottom_line


def of_stage(results, name="track"):
    return next(line for line in bottom_line(results).stages if line.name == name)


@pytest.fixture
def judged(new_run, results_from):
    """Judge track, where each N takes so long in each block; other things are told of every N."""

    def judge(walls_s, **of_all):
        builder = new_run()
        for count, blocks in walls_s.items():
            for block, wall_s in enumerate(blocks):
                own = {name: tell(count, block) for name, tell in of_all.items()}
                builder.trial("track", [{"compute": wall_s}] * count, block=block, **own)
        return of_stage(results_from(builder))

    return judge


def agreeing(_count, _block):
    return 1.0


def test_few_trials_whose_ranges_overlap_could_change_the_answer(judged):
    track = judged({1: [9.0, 9.0], 2: [6.0, 7.0]}, agreement=agreeing)
    assert track.trust == "with care"
    assert "another N may be better: times too close for so few trials" in track.reasons


def test_another_n_that_computes_something_else_asks_for_care(broken):
    segment, track = of_stage(broken, "segment"), of_stage(broken, "track")
    assert (track.trust, track.best_value) == ("with care", 2)
    assert set(track.reasons) - set(segment.reasons) == {
        "the result differs from what it must equal (N = 4)"
    }


def test_a_baseline_that_does_not_agree_with_itself_is_not_trusted(judged):
    track = judged(
        {1: [9.0] * 2, 2: [5.0] * 2},
        agreement=lambda count, _: count / 2,
        same=lambda count, block: count == 2 or block == 0,
    )
    assert track.trust == "no"
    assert "the baseline does not agree with itself" in track.reasons


def test_outputs_that_were_not_compared_are_a_neutral_note(judged):
    track = judged({1: [9.0] * 6, 2: [4.6] * 6})
    assert (track.trust, track.notes) == ("yes", ("outputs not checked",))


def test_the_speedup_that_is_shown_counts_though_another_n_was_chosen(judged):
    track = judged({1: [9.0] * 6, 2: [8.5]}, agreement=agreeing)
    assert (track.best_value, track.shown_at) == (1, 2)
    assert "fewer than 6 trials (N = 2)" in track.notes


def test_of_unequal_numbers_of_trials_the_smallest_is_told(judged):
    walls_s = {1: [9.0 + 0.01 * block for block in range(8)]}
    walls_s[2] = [4.6 + 0.01 * block for block in range(6)]
    assert "6 trials of each" in judged(walls_s, agreement=agreeing).reasons


def test_weak_scaling_has_no_outputs_to_compare(judged):
    walls_s = [9.0 + 0.01 * block for block in range(6)]
    track = judged({1: walls_s, 2: walls_s}, movie_frames=lambda count, _: 80 * count)
    assert track.notes == ()
