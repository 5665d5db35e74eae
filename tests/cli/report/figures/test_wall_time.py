from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from drawn import caption, layers
from pyscale.report.context import ReportContext, Work
from pyscale.report.figures import NothingToDrawError, wall_time


def lines(results):
    """The ideal line, the one that joins medians and the fitted law, as they are drawn."""
    return layers(wall_time(results), "geom_line")


def panels(plot):
    """Text above each panel."""
    return layers(plot, "geom_point")[-1].data["panel"].cat.categories.tolist()


def test_every_timed_trial_is_a_small_dot_left_of_its_configuration(full):
    singles, medians = layers(wall_time(full), "geom_point")
    assert len(singles.data) == full.trials.height == 4 * 4 * 6
    assert singles.aes_params["size"] < medians.aes_params["size"]
    assert max(singles.data["at"]) < 8


def test_a_small_dot_is_nearer_to_its_own_configuration_than_to_any_other(of_table):
    counts = (1, 7, 8, 64)
    singles, _ = layers(wall_time(of_table(["a"], counts)), "geom_point")
    for n, at in zip(counts, singles.data["at"], strict=True):
        assert min(counts, key=lambda other: abs(other - at)) == n


def test_intervals_are_drawn_only_where_there_are_some(full, thin):
    (bars,) = layers(wall_time(full), "geom_errorbar")
    assert len(bars.data) == 16
    assert layers(wall_time(thin), "geom_errorbar") == []


def test_the_ideal_line_divides_the_base_case_evenly(full):
    line = lines(full)[0]
    first = line.data[line.data["panel"] == line.data["panel"].iloc[0]]
    assert (first["wall_s"] * first["workers"]).tolist() == pytest.approx(
        [full.configurations["wall_s"][0]] * len(first)
    )
    assert first["workers"].iloc[-1] == pytest.approx(8)


def test_the_ideal_of_weak_scaling_takes_as_long_at_every_n(of_table):
    line = lines(of_table(["a"], work=pl.col("workers") * 20.0))[0]
    assert line.data["wall_s"].tolist() == pytest.approx([10.0] * 4)


def test_medians_are_joined_and_an_invalid_one_is_left_out(full, broken):
    joined = lines(full)[-1]
    assert joined.data["wall_s"].tolist() == full.configurations["wall_s"].to_list()
    joined = lines(broken)[-1]
    assert len(joined.data) == 5
    assert "Marks, joined: medians" in caption(wall_time(full))


def test_a_fitted_law_is_drawn_with_its_band(full):
    _ideal, law, _joined = lines(full)
    bands = layers(wall_time(full), "geom_ribbon")
    assert sum(len(band.data) for band in bands) == len(law.data)
    first = next(fit for fits in full.fits for fit in (fits.usl, fits.amdahl) if fit.line)
    drawn_s = law.data["wall_s"].tolist()[: len(first.line)]
    assert drawn_s == pytest.approx([point.wall_s for point in first.line])
    for band in bands:
        assert (band.data["wall_s_low"] < band.data["wall_s"]).all()
        assert (band.data["wall_s"] < band.data["wall_s_high"]).all()
    assert "Dotted, in its 95 % band: Amdahl's law, fitted" in caption(wall_time(full))


def test_too_few_trials_for_an_interval_show_their_range(thin):
    (ranges,) = layers(wall_time(thin), "geom_linerange")
    trials = thin.trials.filter(stage="segment", workers=1)["wall_s"]
    own = ranges.data[ranges.data["panel"].str.startswith("segment")].iloc[0]
    assert (own["wall_s_min"], own["wall_s_max"]) == (trials.min(), trials.max())
    said = caption(wall_time(thin))
    assert "Thin bars: shortest to longest of fewer than 6 trials." in said
    assert "Bars:" not in said


def test_a_panel_names_the_algorithm_and_the_caption_a_stand_in(full):
    work = Work(data="a", how="Cellpose 3.1, pyscale-tiny", stand_in="segment ran a toy.")
    named = replace(full, context=ReportContext(title="a run", works={"segment": work}))
    wide, narrow = (wall_time(named, width_mm=width) for width in (180, 88))
    assert "segment: Cellpose 3.1, pyscale-tiny\nbaseline N = 1: " in panels(wide)[1]
    assert " ".join(panels(narrow)[1].split()).startswith(
        "segment: Cellpose 3.1, pyscale-tiny baseline N = 1: "
    )
    assert caption(wide).endswith("segment ran a toy.")


def test_each_panel_names_the_base_case_with_its_wall_time(full):
    base_s = full.configurations["wall_s"][0]
    found = panels(wall_time(full))
    assert found[0] == f"register_denoise\nbaseline N = 1: {base_s:.0f} s"
    assert len(found) == 4


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
