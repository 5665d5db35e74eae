import pytest

from pyscale.report.figures.axes import log_breaks, power_breaks


@pytest.mark.parametrize(
    ("limits", "ticks"),
    [
        ((10, 1000), [10, 20, 50, 100, 200, 500, 1000]),
        ((9, 22), [9, 10, 15, 20]),
        ((0.9, 2.1), [0.9, 1, 1.5, 2]),
        ((0.02, 0.3), [0.02, 0.05, 0.1, 0.2]),
        ((0.5, 2e6), [1, 10, 100, 1000, 1e4, 1e5, 1e6]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_round_and_enough(limits, ticks):
    assert log_breaks(limits) == pytest.approx(ticks)


def test_times_that_hardly_differ_have_ticks_too():
    """As in weak scaling that is nearly ideal: no round number may lie between them."""
    for low, high in ((103, 109), (0.952, 1.05), (51.2, 51.9)):
        ticks = log_breaks((low, high))
        assert 3 <= len(ticks) <= 9
        assert all(low <= tick <= high for tick in ticks)


def test_speedups_have_ticks_at_powers_of_two():
    assert power_breaks((0.9, 9)) == [1, 2, 4, 8]
    assert power_breaks((0.9, 2.1)) == [0.9, 1, 1.5, 2]
