"""Figures over N: what is drawn is what was found, and the caption says how to read it."""

import matplotlib.pyplot as plt
import pytest

from atleastone import some
from drawn import caption, layers
from pyscale.report.figures import NothingToDrawError, cache, losses, speedup, wall_time
from refusals import refused


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


@pytest.mark.parametrize("draw", [speedup, wall_time])
def test_speedups_and_wall_times_begin_at_0_in_every_panel(of_table, draw):
    figure = draw(of_table(["a", "b"])).draw()
    assert all(axes.get_ylim()[0] < 0.05 * axes.get_ylim()[1] for axes in some(figure.axes))
    assert all(axes.get_yscale() == "linear" for axes in figure.axes)
    plt.close(figure)


def test_a_small_dot_is_nearer_to_its_own_configuration_than_to_any_other(of_table):
    counts = (1, 7, 8, 64)
    singles, _ = layers(wall_time(of_table(["a"], counts)), "geom_point")
    for n, at in some(zip(counts, singles.data["at"], strict=True)):
        assert min(counts, key=lambda other: abs(other - at)) == n


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
