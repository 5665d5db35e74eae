import pytest
from hypothesis import given
from hypothesis import strategies as st

from atleastone import some
from pyscale.measuring.trialrecords import earlier_trials, longest_first
from pyscale.planning.sweep import even_windows

WALL_S = st.floats(0.01, 1e5)
THIRDS = [((0, 3), 0.1), ((3, 6), 0.2), ((6, 9), 0.3)]
COARSE = [((0, 8), 40.0)]
FINE = [((0, 2), 5.0), ((2, 4), 6.0), ((4, 6), 20.0), ((6, 8), 9.0)]
ORDERS = {
    "by frames where nothing was measured": (
        *([(0, 2), (2, 5), (5, 7), (7, 10)], []),
        [1, 3, 0, 2],
    ),
    "of the movie where all should take the same": (even_windows(9, 3), [], [0, 1, 2]),
    "of the movie within what took the same": (
        *(even_windows(9, 9), [THIRDS]),
        [6, 7, 8, 3, 4, 5, 0, 1, 2],
    ),
    # Frames 4 to 8 took three times as long as those before them.
    "the dense part first": (
        *(even_windows(8, 4), [[((0, 4), 10.0), ((4, 8), 30.0)]]),
        [2, 3, 0, 1],
    ),
    "finer windows add to coarse ones": (even_windows(8, 4), [COARSE, FINE], [2, 3, 1, 0]),
    "a short one may be the longest": (
        *([(0, 6), (6, 8)], [[((0, 6), 3.0), ((6, 8), 4.0)]]),
        [1, 0],
    ),
}


@pytest.mark.parametrize(("windows", "measured", "order"), ORDERS.values(), ids=ORDERS)
def test_windows_start_by_what_they_should_take(windows, measured, order):
    assert longest_first(windows, measured) == order


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
    for trial in some(plan.trials):
        learnt = [other.id for other in earlier_trials(plan, trial)]
        first = plan.trial(f"{trial.entry}-n{trial.workers}-b1")
        assert learnt == [other.id for other in earlier_trials(plan, first)]
        assert all(name.startswith(f"{trial.entry}-n") and name.endswith("-b1") for name in learnt)
        assert (trial.reference_trial in learnt) == (trial.workers > 1)
