"""Figures of tables: of two runs, and of single measurements."""

import polars as pl
import pytest

from drawn import caption, layers
from pyscale.analysis.comparison import comparison as compared
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.figures import NothingToDrawError, comparison, size_sweep
from refusals import refused


def trials(factor=1.0, counts=(1, 2), repeats=6):
    rows = [
        {"stage": "a", "workers": n, "repeat": r, "wall_s": factor * (100.0 + r) / n}
        for n in counts
        for r in range(repeats)
    ]
    return trials_from_wall_times(pl.DataFrame(rows))


def beside(*new, **of_new):
    """The comparison of six trials with others."""
    return compared(trials(), trials(*new, **of_new))


def marks(plot):
    return layers(plot, "geom_point")[0].data


def test_marks_and_bars_are_those_of_the_table_with_a_band_of_what_is_too_small_to_matter():
    table = beside(1.3)
    plot = comparison(table)
    assert marks(plot)["ratio"].tolist() == table["ratio"].to_list()
    (bars,) = layers(plot, "geom_errorbar")
    assert bars.data["ratio_low"].tolist() == table["ratio_low"].to_list()
    assert set(marks(plot)["verdict"]) == {"worse"}
    assert "with the verdict (of all: worse)" in caption(plot)
    (band,) = layers(plot, "geom_ribbon")
    assert set(band.data["ratio_high"]) == {1.05}
    assert (band.data["workers"].min() < 1, band.data["workers"].max() > 2) == (True, True)


def test_shapes_tell_verdicts_apart():
    plots = [comparison(beside(factor)) for factor in (0.7, 1.0, 1.3)]
    plots.append(comparison(beside(repeats=2)))
    shapes = [
        scale.palette(1) for plot in plots for scale in plot.scales if "shape" in scale.aesthetics
    ]
    assert len({tuple(found) for found in shapes}) == 4
    # Without enough trials there is no bar.
    assert len(layers(plots[-1], "geom_errorbar")) == 0
    assert "fewer than 6 trials" in caption(plots[-1])


def test_a_difference_that_may_not_count_is_told_from_one_that_does():
    plot = comparison(beside(1.06))
    assert set(marks(plot)["verdict"]) == {"slower"}
    assert "Slower, faster: perhaps by less than 5 %" in caption(plot)
    assert "perhaps" not in caption(comparison(beside(1.3)))


def test_what_is_invalid_in_either_is_crossed_and_what_one_run_alone_has_left_out():
    table = beside().with_columns(new_invalid=pl.col("workers") == 2)
    plot = comparison(table)
    crosses = layers(plot, "geom_point")[1]
    assert crosses.data["workers"].tolist() == [2]
    assert "Cross" in caption(plot)
    assert "Cross" not in caption(comparison(beside()))
    assert marks(comparison(beside(counts=(2, 4))))["workers"].tolist() == [2]


@pytest.fixture
def published(references):
    return pl.read_csv(references / "cellpose_device_sweep.csv")


def test_every_measurement_is_a_point_at_its_size_in_a_shape_of_its_device(published):
    plot = size_sweep(published, wall_s="time_s")
    (points,) = layers(plot, "geom_point")
    assert points.data["length_px"].tolist() == published["length_px"].to_list()
    assert points.data["wall_s"].tolist() == published["time_s"].to_list()
    (shape,) = [scale for scale in plot.scales if "shape" in scale.aesthetics]
    assert shape.limits == published["device"].unique(maintain_order=True).to_list()
    assert len(set(shape.palette(len(shape.limits)))) == 4
    # The dashed line is in proportion to the pixels, from the longest time.
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
    with refused(NothingToDrawError):
        comparison(compared(trials(counts=(1,)), trials(counts=(2,))))
    with refused(NothingToDrawError):
        size_sweep(published.clear(), wall_s="time_s")
