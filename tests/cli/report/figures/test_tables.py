"""Figures of tables: of two runs, and of single measurements."""

import polars as pl
import pytest

from drawn import caption, layers
from pyscale.analysis.comparison import comparison as compared
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.figures import NothingToDrawError, comparison, size_sweep


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


@pytest.fixture
def published(references):
    return pl.read_csv(references / "cellpose_device_sweep.csv")


def test_every_measurement_is_a_point_at_its_size(published):
    (points,) = layers(size_sweep(published, wall_s="time_s"), "geom_point")
    assert points.data["length_px"].tolist() == published["length_px"].to_list()
    assert points.data["wall_s"].tolist() == published["time_s"].to_list()


def test_devices_have_a_shape_each(published):
    plot = size_sweep(published, wall_s="time_s")
    (shape,) = [scale for scale in plot.scales if "shape" in scale.aesthetics]
    assert shape.limits == published["device"].unique(maintain_order=True).to_list()
    assert len(set(shape.palette(len(shape.limits)))) == 4


def test_the_dashed_line_is_in_proportion_to_the_pixels_from_the_longest_time(published):
    plot = size_sweep(published, wall_s="time_s")
    line = layers(plot, "geom_line")[0].data
    rates = line["wall_s"] / line["length_px"] ** 2
    assert rates.tolist() == pytest.approx([67.38 / 2351**2] * len(line))
    assert "(macbook-m1-cpu)" in caption(plot)


def test_repeated_sizes_are_joined_at_their_medians():
    table = pl.DataFrame(
        {"device": "cpu", "length_px": [10, 10, 10, 20], "wall_s": [1.0, 2.0, 9.0, 8.0]}
    )
    plot = size_sweep(table)
    assert "Marks: medians; small, set to their left: single measurements" in caption(plot)
    singles, medians = layers(plot, "geom_point")
    assert medians.data["wall_s"].tolist() == [2.0, 8.0]
    assert singles.data["wall_s"].tolist() == [1.0, 2.0, 9.0, 8.0]


def test_more_devices_than_colours_are_told_apart_by_their_shapes():
    names = [str(n) for n in range(9)]
    plot = size_sweep(pl.DataFrame({"device": names, "length_px": 10, "wall_s": 1.0}))
    looks = [
        scale.palette(9) for scale in plot.scales if {"shape", "color"} & set(scale.aesthetics)
    ]
    assert len(set(zip(*looks, strict=True))) == 9


def test_nothing_in_common_and_an_empty_table_are_nothing_to_draw(published):
    with pytest.raises(NothingToDrawError, match="in common"):
        comparison(compared(trials(counts=(1,)), trials(counts=(2,))))
    with pytest.raises(NothingToDrawError, match="no rows"):
        size_sweep(published.clear(), wall_s="time_s")
