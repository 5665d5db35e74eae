from dataclasses import replace

import matplotlib.pyplot as plt
import polars as pl
import pytest
from plotnine import labs

from drawn import caption, layers
from pyscale.report.figures import NothingToDrawError, speedup


def test_the_ideal_is_n_over_the_base_case(of_table):
    line = layers(speedup(of_table(["a"], (2, 4, 8))), "geom_line")[0].data
    assert (line["speedup"].iloc[0], line["speedup"].iloc[-1]) == pytest.approx((1, 4))
    assert (line["speedup"] * 2).tolist() == pytest.approx(line["workers"].tolist())


def test_a_single_configuration_has_no_ideal_line(of_table):
    assert layers(speedup(of_table(["a"], (4,))), "geom_line") == []


@pytest.mark.parametrize(
    ("growth", "said"), [(0, None), (1, "Weak scaling"), (0.5, "differs between N")]
)
def test_the_axis_and_the_caption_say_what_is_scaled(of_table, growth, said):
    results = of_table(["a"], work=20.0 * pl.col("workers").cast(pl.Float64) ** growth)
    plot = speedup(results)
    title = f"{'Scaled speedup' if said else 'Speedup'} over the baseline"
    (scale,) = [found for found in plot.scales if "y" in found.aesthetics]
    assert scale.name == title
    assert (said or "work per second") in caption(plot) or said is None
    assert ("speedup compares work per second" in caption(plot)) == (said is not None)


@pytest.mark.slow
def test_a_cross_is_told_from_a_dot_in_grey(broken, tmp_path):
    """Drawn in one grey, the figure with the cross is still another than with a dot."""
    dotted = replace(
        broken, configurations=broken.configurations.with_columns(invalid=pl.lit(False))
    )
    grey = []
    for shown in (broken, dotted):
        plot = speedup(shown) + labs(caption="")
        for part in layers(plot, "geom_point"):
            part.aes_params["color"] = "#777777"
        plot.save(tmp_path / "figure.png", width=6, height=3, dpi=100, verbose=False)
        grey.append(plt.imread(tmp_path / "figure.png")[..., :3].mean(axis=2))
    assert (abs(grey[0] - grey[1]) > 0.2).sum() > 20


def test_where_nothing_was_timed_there_is_nothing_to_draw(nothing_timed):
    with pytest.raises(NothingToDrawError):
        speedup(nothing_timed)
