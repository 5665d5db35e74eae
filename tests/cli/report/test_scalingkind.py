"""What the report says of curves whose work grew with N."""

import polars as pl
import pytest

from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.advice import doubts
from pyscale.report.curves import curves
from pyscale.report.sentences import assumed_strong, scaled_work, speedup_title
from refusals import assert_said


def curve_of(works):
    table = {"stage": "a", "workers": (1, 2, 4), "wall_s": [9.0, 9.0, 9.0], "work": works}
    trials = trials_from_wall_times(pl.DataFrame(table, strict=False))
    (curve,) = curves(configurations(trials))
    return curve


def test_work_that_is_neither_strong_nor_weak_or_not_known_is_told():
    mixed, in_part = curve_of([1.0, 1.5625, 1.5625]), curve_of([20.0, None, 80.0])
    assert_said(*scaled_work(mixed), *assumed_strong([in_part]))
    assert list(assumed_strong([mixed])) == []
    assert doubts([in_part]) == list(assumed_strong([in_part]))
    for works in ([80.0] * 3, [None] * 3):
        assert scaled_work(curve_of(pl.Series(works, dtype=pl.Float64))) == []


@pytest.mark.parametrize(
    ("works", "title"),
    [([80.0] * 3, "Speedup"), ([1.0, 2.0, 4.0], "Scaled speedup"), ([1, 2, 3], "Scaled speedup")],
)
def test_the_axis_of_a_figure_names_a_scaled_speedup(works, title):
    curve = curve_of(pl.Series(works, dtype=pl.Float64))
    assert speedup_title([curve]) == f"{title} over the baseline"
