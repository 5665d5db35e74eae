from __future__ import annotations

import polars as pl
import pytest

from drawn import caption, layers
from pyscale.report import palette
from pyscale.report.figures import NothingToDrawError, losses
from pyscale.report.wording import phase


def test_the_parts_of_a_bar_are_those_of_the_table_and_sum_to_n_times_the_wall_time(full):
    (bars,) = layers(losses(full), "geom_col")
    sums = bars.data.groupby(["panel", "place"], observed=True)["worker_s"].sum()
    assert sorted(sums) == pytest.approx(sorted(full.configurations["worker_seconds"]))


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


def test_a_part_that_took_no_time_is_not_in_the_legend(full):
    (bars,) = layers(losses(full), "geom_col")
    assert phase("container_start") not in bars.data["part"].cat.categories


def test_the_dashed_line_is_the_base_case(full):
    (line,) = layers(losses(full), "geom_segment")
    base_s = full.configurations["worker_seconds"][0]
    assert line.data["level"].tolist()[:4] == pytest.approx([base_s] * 4)
    assert "Line across: the worker-seconds that the baseline took" in caption(losses(full))


def test_in_weak_scaling_the_base_case_grows_with_the_work(of_table):
    results = of_table(["a"], work=pl.col("workers") * 20.0, mean_task_s=pl.col("wall_s") * 0.9)
    (line,) = layers(losses(results), "geom_segment")
    assert line.data["level"].tolist() == pytest.approx([10.0, 20.0, 40.0, 80.0])


def test_curves_without_times_of_tasks_have_no_panel(of_table):
    known = pl.when(pl.col("stage") == "a").then(pl.col("wall_s") * 0.9)
    results = of_table(["a", "b"], mean_task_s=known)
    (bars,) = layers(losses(results), "geom_col")
    # One worker's time is its task's.
    shown = bars.data["panel"].cat.categories.tolist()
    assert [panel.split("\n")[0] for panel in shown] == sorted(set(results.losses["stage"]))


def test_a_table_of_wall_times_alone_has_nothing_to_draw(of_table):
    with pytest.raises(NothingToDrawError, match="`mean_task_s`"):
        losses(of_table(["a"]))


def test_an_invalid_configuration_is_crossed(broken):
    crosses = layers(losses(broken), "geom_point")[0]
    assert crosses.data["total"].tolist() == pytest.approx(
        broken.configurations.filter("invalid")["worker_seconds"].to_list()
    )
    assert "Cross: invalid" in caption(losses(broken))
