"""The window that should take longest starts first."""

from hypothesis import given
from hypothesis import strategies as st

from pyscale.sweep import even_windows
from pyscale.trialrecords import earlier_trials, longest_first

WALL_S = st.floats(0.01, 1e5)


def test_without_measurements_the_number_of_frames_decides():
    assert longest_first([(0, 2), (2, 5), (5, 7), (7, 10)], []) == [1, 3, 0, 2]


def test_windows_that_should_take_the_same_keep_the_order_of_the_movie():
    assert longest_first(even_windows(9, 3), []) == [0, 1, 2]
    thirds = [((0, 3), 0.1), ((3, 6), 0.2), ((6, 9), 0.3)]
    assert longest_first(even_windows(9, 9), [thirds]) == [6, 7, 8, 3, 4, 5, 0, 1, 2]


def test_the_dense_part_of_the_movie_starts_first():
    """Frames 4 to 8 took three times as long as those before them."""
    measured = [[((0, 4), 10.0), ((4, 8), 30.0)]]
    assert longest_first(even_windows(8, 4), measured) == [2, 3, 0, 1]


def test_finer_windows_add_to_what_coarse_ones_tell():
    coarse = [((0, 8), 40.0)]
    fine = [((0, 2), 5.0), ((2, 4), 6.0), ((4, 6), 20.0), ((6, 8), 9.0)]
    assert longest_first(even_windows(8, 4), [coarse, fine]) == [2, 3, 1, 0]


def test_a_short_window_may_be_the_longest():
    assert longest_first([(0, 6), (6, 8)], [[((0, 6), 3.0), ((6, 8), 30.0)]]) == [1, 0]


@given(frames=st.integers(1, 60), count=st.integers(1, 60), data=st.data())
def test_every_window_starts_once_and_none_before_a_longer_one(frames, count, data):
    """Measured in the very windows that are ordered, their wall times are the order."""
    windows = even_windows(frames, min(frames, count))
    walls_s = [round(data.draw(WALL_S), 2) for _ in windows]
    order = longest_first(windows, [list(zip(windows, walls_s, strict=True))])
    assert sorted(order) == list(range(len(windows)))
    started = [walls_s[window] for window in order]
    assert started == sorted(started, reverse=True)


def test_all_repeats_learn_from_the_same_trials_of_their_stage(make):
    plan = make(workers=(1, 2, 4), repeats=4)
    for trial in plan.trials:
        learnt = [other.id for other in earlier_trials(plan, trial)]
        first = plan.trial(f"{trial.entry}-n{trial.workers}-b1")
        assert learnt == [other.id for other in earlier_trials(plan, first)]
        assert all(name.startswith(f"{trial.entry}-n") and name.endswith("-b1") for name in learnt)
        assert (trial.reference_trial in learnt) == (trial.workers > 1)
