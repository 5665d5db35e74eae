from __future__ import annotations

import polars as pl
import pytest

from drawn import caption, layers
from pyscale.report.figures import NothingToDrawError, wall_time


def test_every_timed_trial_is_a_small_dot_left_of_its_configuration(full):
    singles, medians = layers(wall_time(full), "geom_point")
    assert len(singles.data) == full.trials.height == 4 * 4 * 6
    assert singles.aes_params["size"] < medians.aes_params["size"]
    assert max(singles.data["workers"]) < 8


def test_a_small_dot_is_nearer_to_its_own_configuration_than_to_any_other(of_table):
    counts = (1, 7, 8, 64)
    singles, _ = layers(wall_time(of_table(["a"], counts)), "geom_point")
    for n, at in zip(counts, singles.data["workers"], strict=True):
        assert min(counts, key=lambda other: abs(other - at)) == n


def test_intervals_are_drawn_only_where_there_are_some(full, thin):
    (bars,) = layers(wall_time(full), "geom_errorbar")
    assert len(bars.data) == 16
    assert layers(wall_time(thin), "geom_errorbar") == []
    assert "fewer than 6 trials" in caption(wall_time(thin))


def test_the_ideal_line_divides_the_base_case_evenly(full):
    (line,) = layers(wall_time(full), "geom_line")
    first = line.data[line.data["panel"] == line.data["panel"].iloc[0]]
    assert (first["wall_s"] * first["workers"]).tolist() == pytest.approx(
        [full.configurations["wall_s"][0]] * 4
    )


def test_the_ideal_of_weak_scaling_takes_as_long_at_every_n(of_table):
    (line,) = layers(wall_time(of_table(["a"], work=pl.col("workers") * 20.0)), "geom_line")
    assert line.data["wall_s"].tolist() == pytest.approx([10.0] * 4)


def test_no_line_joins_points_that_were_measured(full):
    (line,) = layers(wall_time(full), "geom_line")
    assert line.aes_params["linetype"] == "dashed"


def test_each_panel_names_the_base_case_with_its_wall_time(full):
    panels = layers(wall_time(full), "geom_point")[1].data["panel"].unique().tolist()
    base_s = full.configurations["wall_s"][0]
    assert panels[0] == f"register_denoise\nbase case N = 1: {base_s:.0f} s"
    assert len(panels) == 4


def test_an_invalid_configuration_is_a_cross_that_the_caption_explains(broken):
    plot = wall_time(broken)
    *_, dots, crosses = layers(plot, "geom_point")
    assert crosses.aes_params["shape"] == "x"
    assert len(dots.data) == 5
    assert crosses.data["panel"].str.startswith("track").tolist() == [True]
    assert crosses.data["workers"].tolist() == [4]
    assert "Cross: invalid, with no bar" in caption(plot)
    # A bar would say how well a time of other work is known.
    (bars,) = layers(plot, "geom_errorbar")
    assert not ((bars.data["workers"] == 4) & bars.data["panel"].str.startswith("track")).any()


def test_where_all_is_valid_nothing_is_said_of_crosses(full):
    assert "Cross" not in caption(wall_time(full))


def test_where_nothing_was_timed_there_is_nothing_to_draw(nothing_timed):
    with pytest.raises(NothingToDrawError, match="no trial of it was timed"):
        wall_time(nothing_timed)
