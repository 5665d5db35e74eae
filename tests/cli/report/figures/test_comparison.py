import polars as pl
import pytest

from drawn import caption, layers
from pyscale.analysis.comparison import comparison as compared
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.figures import NothingToDrawError, comparison


def trials(factor=1.0, counts=(1, 2), repeats=6):
    return trials_from_wall_times(
        pl.DataFrame(
            [
                {"stage": "a", "workers": n, "repeat": r, "wall_s": factor * (100.0 + r) / n}
                for n in counts
                for r in range(repeats)
            ]
        )
    )


def marks(plot):
    return layers(plot, "geom_point")[0].data


def test_marks_and_bars_are_those_of_the_table():
    table = compared(trials(), trials(1.3))
    plot = comparison(table)
    assert marks(plot)["ratio"].tolist() == table["ratio"].to_list()
    (bars,) = layers(plot, "geom_errorbar")
    assert bars.data["ratio_low"].tolist() == table["ratio_low"].to_list()
    assert set(marks(plot)["verdict"]) == {"worse"}
    assert "with the verdict (of all: worse)" in caption(plot)


def test_shapes_tell_verdicts_apart():
    plots = [comparison(compared(trials(), trials(factor))) for factor in (0.7, 1.0, 1.3)]
    plots.append(comparison(compared(trials(), trials(repeats=2))))
    shapes = [
        scale.palette(1) for plot in plots for scale in plot.scales if "shape" in scale.aesthetics
    ]
    assert len({tuple(found) for found in shapes}) == 4


def test_a_difference_that_may_not_count_is_told_from_one_that_does():
    plot = comparison(compared(trials(), trials(1.06)))
    assert set(marks(plot)["verdict"]) == {"slower"}
    assert "Slower, faster: perhaps by less than 5 %" in caption(plot)
    assert "perhaps" not in caption(comparison(compared(trials(), trials(1.3))))


def test_a_band_across_shows_what_is_too_small_to_matter():
    (band,) = layers(comparison(compared(trials(), trials(1.3))), "geom_ribbon")
    assert set(band.data["ratio_high"]) == {1.05}
    assert (band.data["workers"].min() < 1, band.data["workers"].max() > 2) == (True, True)


def test_without_enough_trials_there_is_no_bar():
    plot = comparison(compared(trials(), trials(repeats=2)))
    assert len(layers(plot, "geom_errorbar")) == 0
    assert "fewer than 6 trials" in caption(plot)


def test_a_configuration_of_one_run_alone_is_left_out():
    plot = comparison(compared(trials(), trials(counts=(2, 4))))
    assert marks(plot)["workers"].tolist() == [2]


def test_what_is_invalid_in_either_is_crossed():
    table = compared(trials(), trials()).with_columns(new_invalid=pl.col("workers") == 2)
    plot = comparison(table)
    crosses = layers(plot, "geom_point")[1]
    assert crosses.data["workers"].tolist() == [2]
    assert "Cross" in caption(plot)
    assert "Cross" not in caption(comparison(compared(trials(), trials())))


def test_nothing_in_common_is_nothing_to_draw():
    with pytest.raises(NothingToDrawError, match="in common"):
        comparison(compared(trials(counts=(1,)), trials(counts=(2,))))
