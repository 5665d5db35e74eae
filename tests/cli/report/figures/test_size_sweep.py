import polars as pl
import pytest

from drawn import caption, layers
from pyscale.report.figures import NothingToDrawError, size_sweep


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


def test_an_empty_table_has_nothing_to_draw(published):
    with pytest.raises(NothingToDrawError):
        size_sweep(published.clear(), wall_s="time_s")
