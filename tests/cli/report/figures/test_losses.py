import polars as pl
import pytest

from drawn import layers
from pyscale.report import palette
from pyscale.report.figures import NothingToDrawError, losses
from pyscale.report.wording import phase


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
    (bars,) = layers(losses(results), "geom_col")
    # One worker's time is its task's.
    shown = bars.data["panel"].cat.categories.tolist()
    assert [panel.split("\n")[0] for panel in shown] == sorted(set(results.losses["stage"]))


def test_a_table_of_wall_times_alone_has_nothing_to_draw(of_table):
    with pytest.raises(NothingToDrawError, match="`mean_task_s`"):
        losses(of_table(["a"]))
