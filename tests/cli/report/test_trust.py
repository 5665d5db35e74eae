"""Whether a number can be trusted, by the flags of what it rests on."""

from pyscale.report.bottomline import bottom_line


def of_stage(results, name):
    return next(line for line in bottom_line(results).stages if line.name == name)


def test_few_trials_whose_ranges_overlap_could_change_the_answer(new_run, results_from):
    builder = new_run()
    for block in range(2):
        builder.trial("track", [{"compute": 9.0}], block=block, agreement=1.0)
        builder.trial("track", [{"compute": 6.0 + block}] * 2, block=block, agreement=1.0)
    track = of_stage(results_from(builder), "track")
    assert track.trust == "with care"
    assert "another N may be better: times too close for so few trials" in track.reasons


def test_another_n_that_computes_something_else_asks_for_care(broken):
    segment, track = of_stage(broken, "segment"), of_stage(broken, "track")
    assert (track.trust, track.best_value) == ("with care", 2)
    assert set(track.reasons) - set(segment.reasons) == {
        "the result differs from what it must equal (N = 4)"
    }


def test_a_baseline_that_does_not_agree_with_itself_is_not_trusted(new_run, results_from):
    builder = new_run()
    for block in range(2):
        builder.trial("track", [{"compute": 9.0}], block=block, agreement=0.5, same=block == 0)
        builder.trial("track", [{"compute": 5.0}] * 2, block=block, agreement=1.0)
    track = of_stage(results_from(builder), "track")
    assert track.trust == "no"
    assert "the baseline does not agree with itself" in track.reasons


def test_outputs_that_were_not_compared_are_a_neutral_note(new_run, results_from):
    builder = new_run()
    for block in range(6):
        builder.trial("track", [{"compute": 9.0}], block=block)
        builder.trial("track", [{"compute": 4.6}] * 2, block=block)
    track = of_stage(results_from(builder), "track")
    assert track.trust == "yes"
    assert track.notes == ("outputs not checked",)


def test_the_speedup_that_is_shown_counts_though_another_n_was_chosen(new_run, results_from):
    builder = new_run()
    for block in range(6):
        builder.trial("track", [{"compute": 9.0}], block=block, agreement=1.0)
    builder.trial("track", [{"compute": 8.5}] * 2, agreement=1.0)
    track = of_stage(results_from(builder), "track")
    assert (track.best_value, track.shown_at) == (1, 2)
    assert "fewer than 6 trials (N = 2)" in track.notes


def test_of_unequal_numbers_of_trials_the_smallest_is_told(new_run, results_from):
    builder = new_run()
    for block in range(8):
        builder.trial("track", [{"compute": 9.0 + 0.01 * block}], block=block, agreement=1.0)
        if block < 6:
            workers = [{"compute": 4.6 + 0.01 * block}] * 2
            builder.trial("track", workers, block=block, agreement=1.0)
    track = of_stage(results_from(builder), "track")
    assert "6 trials of each" in track.reasons


def test_weak_scaling_has_no_outputs_to_compare(new_run, results_from):
    builder = new_run()
    for block in range(6):
        for count in (1, 2):
            workers = [{"compute": 9.0 + 0.01 * block}] * count
            builder.trial("track", workers, block=block, movie_frames=80 * count)
    track = of_stage(results_from(builder), "track")
    assert track.notes == ()
