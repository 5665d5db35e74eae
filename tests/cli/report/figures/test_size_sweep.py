from __future__ import annotations

import polars as pl
import pytest

from drawn import caption, layers
from pyscale.errors import UserError
from pyscale.report.figures import NothingToDrawError, size_sweep


@pytest.fixture
def published(references):
    return pl.read_csv(references / "cellpose_device_sweep.csv")


def test_every_measurement_is_a_point_at_its_pixels(published):
    (points,) = layers(size_sweep(published, wall_s="time_s"), "geom_point")
    assert points.data["megapixels"].tolist() == pytest.approx(
        (published["length_px"] ** 2 / 1e6).to_list()
    )
    assert points.data["wall_s"].tolist() == published["time_s"].to_list()


def test_devices_have_a_shape_each(published):
    plot = size_sweep(published, wall_s="time_s")
    (shape,) = [scale for scale in plot.scales if "shape" in scale.aesthetics]
    assert shape.limits == published["device"].unique(maintain_order=True).to_list()
    assert len(set(shape.palette(len(shape.limits)))) == 4


def test_the_dashed_line_is_in_proportion_to_the_pixels_from_the_longest_time(published):
    plot = size_sweep(published, wall_s="time_s")
    line = layers(plot, "geom_line")[0].data
    rates = line["wall_s"] / line["megapixels"]
    assert rates.tolist() == pytest.approx([67.38 / (2351**2 / 1e6)] * len(line))
    assert "(macbook-m1-cpu)" in caption(plot)


def test_repeated_sizes_are_joined_at_their_medians():
    table = pl.DataFrame(
        {"device": "cpu", "length_px": [10, 10, 10, 20], "wall_s": [1.0, 2.0, 9.0, 8.0]}
    )
    plot = size_sweep(table)
    assert "at their medians" in caption(plot)
    line = plot.draw(show=False).axes[0].lines[-1]
    assert len(line.get_ydata()) == 2


def test_more_devices_than_can_be_told_apart_are_refused():
    table = pl.DataFrame({"device": [str(n) for n in range(8)], "length_px": 10, "wall_s": 1.0})
    with pytest.raises(UserError, match="8 devices cannot be told apart"):
        size_sweep(table)


def test_an_empty_table_has_nothing_to_draw(published):
    with pytest.raises(NothingToDrawError):
        size_sweep(published.clear())
