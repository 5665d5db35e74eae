"""What the report says of curves whose work grew with N."""

import polars as pl
import pytest

from asread import printed
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.advice import doubts
from pyscale.report.curves import curves
from pyscale.report.scalingkind import not_compared, speedup_title, work
from pyscale.report.terminal import summary

COUNTS = (1, 2, 4)


def table_of(works):
    table = {"stage": "a", "workers": COUNTS, "wall_s": [9.0, 9.0, 9.0], "work": works}
    return configurations(trials_from_wall_times(pl.DataFrame(table, strict=False)))


def test_work_that_is_neither_strong_nor_weak_is_told_apart():
    (mixed,) = curves(table_of([1.0, 1.5625, 1.5625]))
    assert work(mixed) == (
        "Neither the work nor the work per worker was the same at every N (1 at N = 1, 1.56 at "
        "N = 2 and 1.56 at N = 4): speedup compares work per second."
    )
    assert list(not_compared([mixed])) == []


def test_work_that_is_known_in_part_is_said_to_be_taken_for_the_same():
    table = table_of([20.0, None, 80.0])
    (said,) = not_compared(curves(table))
    assert said == (
        "a: the work at N = 2 is unknown; speedups assume strong scaling (the same work at every "
        "N)."
    )
    assert doubts(curves(table)) == [said]
    text = printed(summary(table), width=200)
    assert said in text


def test_of_strong_scaling_and_of_unknown_work_nothing_is_said():
    for works in ([80.0] * 3, [None] * 3):
        (curve,) = curves(table_of(pl.Series(works, dtype=pl.Float64)))
        assert work(curve) is None


@pytest.mark.parametrize(
    ("works", "title"),
    [([80.0] * 3, "Speedup"), ([1.0, 2.0, 4.0], "Scaled speedup"), ([1, 2, 3], "Scaled speedup")],
)
def test_the_axis_of_a_figure_names_a_scaled_speedup(works, title):
    found = curves(table_of(pl.Series(works, dtype=pl.Float64)))
    assert speedup_title(found) == f"{title} over the baseline"
