from __future__ import annotations

import itertools
import math
import re
import warnings

import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from plotnine import labs, theme

from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.curves import curves
from pyscale.report.figures import log_breaks, results_plot, speedup_plot, write_figures


def published(stages=5, counts=(1, 2, 4, 8)):
    rows = [
        {"stage": f"register_denoise_{s}", "workers": n, "wall_s": 10.0 ** (s + 1) / n**0.7}
        for s in range(stages)
        for n in counts
    ]
    trials = trials_from_wall_times(pl.DataFrame(rows))
    return configurations(trials), trials


def drawn_texts(plot, panels):
    """Text and box in pixels of everything written on a figure of the size that is saved."""
    rows = math.ceil(panels / (2 if panels in {2, 4} else min(panels, 3)))
    figure = (plot + theme(figure_size=(180 / 25.4, (rows * 58 + 24) / 25.4))).draw()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [
        (text.get_text(), text.get_window_extent(renderer))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip()
    ]
    whole = figure.bbox
    plt.close(figure)
    return texts, whole


@pytest.mark.parametrize(
    "which", ["full", "thin", "broken", "published", "one stage", "many counts"]
)
def test_no_label_overlaps_another_or_leaves_the_figure(which, full, thin, broken):
    table, trials = {
        "full": lambda: (full.configurations, full.trials),
        "thin": lambda: (thin.configurations, thin.trials),
        "broken": lambda: (broken.configurations, broken.trials),
        "published": published,
        "one stage": lambda: published(1),
        "many counts": lambda: published(3, (1, 2, 4, 8, 16, 32, 64)),
    }[which]()
    found = curves(table)
    for plot in (results_plot(found, trials), speedup_plot(found)):
        texts, whole = drawn_texts(plot, len(found))
        assert len(texts) > 2 * len(found)
        for (text, box), (other, other_box) in itertools.combinations(texts, 2):
            assert not box.overlaps(other_box), (text, other)
        for text, box in texts:
            assert whole.x0 <= box.x0 <= box.x1 <= whole.x1, text
            assert whole.y0 <= box.y0 <= box.y1 <= whole.y1, text


def test_both_figures_come_in_three_formats_180_mm_wide(tmp_path, thin):
    written = write_figures(tmp_path, thin.configurations, thin.trials)
    assert sorted(path.name for path in written) == [
        *("benchmark_results.pdf", "benchmark_results.png", "benchmark_results.svg"),
        *("benchmark_speedup.pdf", "benchmark_speedup.png", "benchmark_speedup.svg"),
    ]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in written}
    svg = (tmp_path / "benchmark_speedup.svg").read_text()
    width_pt = float(re.search(r'width="([0-9.]+)pt"', svg).group(1))
    assert width_pt * 25.4 / 72 == pytest.approx(180, abs=0.1)
    assert (tmp_path / "benchmark_results.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "benchmark_results.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_numbers_give_the_same_bytes(tmp_path, thin):
    for folder in ("first", "second"):
        write_figures(tmp_path / folder, thin.configurations, thin.trials)
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name


def layer(plot, geom):
    return [part.geom for part in plot.layers if type(part.geom).__name__ == geom]


def test_every_timed_trial_is_a_point_and_failed_ones_are_not(full, new_run):
    singles = layer(results_plot(curves(full.configurations), full.trials), "geom_point")[0]
    assert len(singles.data) == full.trials.height == 4 * 4 * 6


def test_intervals_are_drawn_only_where_there_are_some(full, thin):
    for tables, rows in ((full, 16), (thin, 0)):
        found = curves(tables.configurations)
        bars = layer(results_plot(found, tables.trials), "geom_linerange")[0]
        assert len(bars.data) == rows
    # The base case of each stage has a speedup of 1 by definition.
    assert len(layer(speedup_plot(curves(full.configurations)), "geom_linerange")[0].data) == 12


def test_each_panel_names_the_base_case_with_its_wall_time(full):
    found = curves(full.configurations)
    panels = layer(speedup_plot(found), "geom_point")[0].data["panel"].unique().tolist()
    base_s = full.configurations["wall_s"][0]
    assert panels[0] == f"register_denoise\nbase case N = 1: {base_s:.0f} s"
    assert len(panels) == 4


def test_the_ideal_line_divides_the_base_case_evenly(full):
    ideal = layer(results_plot(curves(full.configurations), full.trials), "geom_line")[0].data
    first = ideal[ideal["panel"] == ideal["panel"].iloc[0]]
    assert (first["ideal_s"] * first["workers"]).tolist() == pytest.approx(
        [full.configurations["wall_s"][0]] * 4
    )


def test_a_single_configuration_is_drawn_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)
        assert len(write_figures(tmp_path, *published(1, (4,)))) == 6


def test_where_nothing_was_timed_there_is_no_figure(tmp_path, new_run):
    from pyscale.analysis.trials import trial_table

    builder = new_run().trial("track", [{"compute": 1.0}], failed=["w0"])
    trials = trial_table(builder.tasks, builder.spans)
    assert write_figures(tmp_path, configurations(trials), trials) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limits", "ticks"),
    [
        ((10, 1000), [10, 20, 50, 100, 200, 500, 1000]),
        ((9, 22), [9, 10, 15, 20]),
        ((0.9, 2.1), [0.9, 1, 1.5, 2]),
        ((0.02, 0.3), [0.02, 0.05, 0.1, 0.2]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_round_and_enough(limits, ticks):
    assert log_breaks(limits) == pytest.approx(ticks)


def crosses(plot):
    """The layers of dots and of crosses, and the caption."""
    layers = layer(plot, "geom_point")
    marked = [part for part in layers if part.aes_params.get("shape") == "x"]
    dots = [part for part in layers if part.aes_params["color"] == "#0072B2"]
    return dots[0].data, marked[0].data, plot.labels.caption


def test_an_invalid_configuration_is_a_cross_that_the_caption_explains(broken):
    found = curves(broken.configurations)
    for plot in (results_plot(found, broken.trials), speedup_plot(found)):
        dots, marked, caption = crosses(plot)
        assert len(dots) == 5
        assert marked["panel"].str.startswith("track").tolist() == [True]
        assert marked["workers"].tolist() == [4]
        assert "Cross: invalid" in caption
        # A bar would say how well a ratio of two different results is known.
        bars = layer(plot, "geom_linerange")[0].data
        assert not ((bars["workers"] == 4) & bars["panel"].str.startswith("track")).any()


def test_where_all_is_valid_nothing_is_said_of_crosses(full):
    found = curves(full.configurations)
    for plot in (results_plot(found, full.trials), speedup_plot(found)):
        _, marked, caption = crosses(plot)
        assert len(marked) == 0
        assert "Cross" not in caption


def in_grey(plot, tmp_path):
    """Pixels of a figure in shades of grey."""
    plot.save(tmp_path / "figure.png", width=6, height=3, dpi=100, verbose=False)
    return plt.imread(tmp_path / "figure.png")[..., :3].mean(axis=2)


def test_a_cross_is_told_from_a_dot_in_grey(broken, tmp_path):
    """Drawn in one grey, the figure with the cross is still another than with a dot."""
    found = curves(broken.configurations)
    dotted = curves(broken.configurations.with_columns(invalid=pl.lit(False)))
    grey = []
    for shown in (found, dotted):
        plot = speedup_plot(shown) + labs(caption="")
        for part in layer(plot, "geom_point"):
            part.aes_params["color"] = "#777777"
        grey.append(in_grey(plot, tmp_path))
    assert (abs(grey[0] - grey[1]) > 0.2).sum() > 20
