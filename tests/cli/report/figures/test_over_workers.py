"""Figures over N: what is drawn is what was found, and the caption says how to read it."""

from dataclasses import replace

import matplotlib.pyplot as plt
import polars as pl
import pytest
from plotnine import labs

from atleastone import some
from drawn import caption, layers
from pyscale.report import palette
from pyscale.report.context import ReportContext, Work
from pyscale.report.figures import NothingToDrawError, cache, losses, speedup, throughput, wall_time
from pyscale.report.wording import phase
from refusals import refused


def panels(plot, geom):
    """Text above each panel."""
    return layers(plot, geom)[-1].data["panel"].cat.categories.tolist()


@pytest.mark.parametrize(
    ("draw", "missing"), [(losses, "`mean_task_s`"), (cache, "page cache"), (speedup, None)]
)
def test_where_nothing_was_measured_it_says_what_is_missing(of_table, nothing_timed, draw, missing):
    if missing is not None:
        with refused(NothingToDrawError):
            draw(of_table(["a"]))
        return
    for over_n in (speedup, wall_time):
        with refused(NothingToDrawError):
            over_n(nothing_timed)


def test_the_ideal_is_n_over_the_base_case_which_alone_has_none(of_table):
    line = layers(speedup(of_table(["a"], (2, 4, 8))), "geom_line")[0].data
    assert (line["speedup"].iloc[0], line["speedup"].iloc[-1]) == pytest.approx((1, 4))
    assert (line["speedup"] * 2).tolist() == pytest.approx(line["workers"].tolist())
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


@pytest.mark.parametrize("draw", [speedup, wall_time])
def test_speedups_and_wall_times_begin_at_0_in_every_panel(of_table, draw):
    figure = draw(of_table(["a", "b"])).draw()
    assert all(axes.get_ylim()[0] < 0.05 * axes.get_ylim()[1] for axes in some(figure.axes))
    assert all(axes.get_yscale() == "linear" for axes in figure.axes)
    plt.close(figure)


def test_a_logarithmic_axis_says_so(of_table):
    plot = throughput(of_table(["a"], work=pl.lit(20.0)))
    names = {aesthetic: scale.name for scale in plot.scales for aesthetic in scale.aesthetics}
    assert names["x"] == "Workers N (log scale)"
    assert names["y"] == "Frames or units of work per second (log scale)"


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


def test_a_small_dot_is_nearer_to_its_own_configuration_than_to_any_other(of_table):
    counts = (1, 7, 8, 64)
    singles, _ = layers(wall_time(of_table(["a"], counts)), "geom_point")
    for n, at in some(zip(counts, singles.data["at"], strict=True)):
        assert min(counts, key=lambda other: abs(other - at)) == n


def test_a_panel_names_the_algorithm_and_the_caption_a_stand_in(full):
    work = Work(data="a", how="Cellpose 3.1, pyscale-tiny", stand_in="segment ran a toy.")
    named = replace(full, context=ReportContext(title="a run", works={"segment": work}))
    wide, narrow = (wall_time(named, width_mm=width) for width in (180, 88))
    assert "segment: Cellpose 3.1, pyscale-tiny\nbaseline N = 1: " in panels(wide, "geom_point")[1]
    assert " ".join(panels(narrow, "geom_point")[1].split()).startswith(
        "segment: Cellpose 3.1, pyscale-tiny baseline N = 1: "
    )
    assert caption(wide).endswith("segment ran a toy.")


def test_bars_are_stacked_from_the_axis_in_the_order_of_the_palette(full):
    (bars,) = layers(losses(full), "geom_col")
    parts = bars.data["part"].cat.categories.tolist()
    assert parts == [name for name in map(phase, palette.PARTS) if name in parts]
    drawn = losses(full).draw(show=False)
    blue, light = (
        tuple(int(code[at : at + 2], 16) / 255 for at in (1, 3, 5))
        for code in (palette.PARTS["compute"], palette.PARTS["idle"])
    )
    at_the_axis, on_top = set(), set()
    for collection in drawn.axes[0].collections:
        for path, face in zip(collection.get_paths(), collection.get_facecolors(), strict=False):
            low = path.get_extents().y0
            color = tuple(face[:3])
            if color == pytest.approx(blue, abs=0.01):
                at_the_axis.add(low)
            if color == pytest.approx(light, abs=0.01):
                on_top.add(low)
    assert at_the_axis == {0}
    assert min(on_top) > 0


def test_curves_without_times_of_tasks_have_no_panel(of_table):
    known = pl.when(pl.col("stage") == "a").then(pl.col("wall_s") * 0.9)
    results = of_table(["a", "b"], mean_task_s=known)
    # One worker's time is its task's.
    shown = panels(losses(results), "geom_col")
    assert [panel.split("\n")[0] for panel in shown] == sorted(set(results.losses["stage"]))


def reading(run, state, seconds):
    def spent(n, _):
        return {"read": seconds / n, "compute": 10.0 / n}

    return run.curve("segment", spent, blocks=1, cache_state=state).results()


def test_a_warm_run_stands_beside_a_cold_one_in_other_shapes(new_run):
    cold = reading(new_run(), "verified-cold", 4.0)
    warm = reading(new_run(), "warm", 1.0)
    plot = cache(cold, warm)
    (marks,) = layers(plot, "geom_point")
    one, other = (marks.data[marks.data["state"] == state] for state in ("cold, proved", "warm"))
    assert other["read_s"].tolist() == pytest.approx([1.0, 1.0])
    assert set(one["at"]).isdisjoint(other["at"])
    (shape,) = [scale for scale in plot.scales if "shape" in scale.aesthetics]
    assert shape.limits == ["cold, proved", "warm"]
    assert len(set(shape.palette(len(shape.limits)))) == 2
    assert "side by side" in caption(plot)
    assert "side by side" not in caption(cache(cold))
