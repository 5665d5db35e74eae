"""The size from which on a device wins is one that was measured, and all larger ones agree."""

from __future__ import annotations

import polars as pl
import pytest

from pyscale.analysis.grid.versus import ratio_schema
from pyscale.analysis.grid.wins import Win, wins

Row = tuple[float, float, float | None]
"""Length, ratio, and the low end of its interval."""


def curve(*rows: Row) -> Win:
    about = {
        "suite": "s",
        "family": "f",
        "series": "",
        "workers": 1,
        "value": "cuda",
        "base": "cpu",
        "measure": "steady",
        "invalid": False,
    }
    table = [
        about | {"length_px": length_px, "ratio": ratio, "ratio_low": low}
        for length_px, ratio, low in rows
    ]
    (found,) = wins(pl.DataFrame(table, schema=ratio_schema()))
    return found


@pytest.mark.parametrize(
    ("rows", "from_px", "not_at_px", "sure"),
    [
        ([(224, 0.5, 0.4), (448, 1.5, 1.2), (672, 3.0, 2.5)], 448, 224, True),
        ([(224, 1.5, 1.2), (448, 2.0, 1.5)], 224, None, True),
        ([(224, 1.2, 0.9), (448, 2.0, 1.5)], 448, 224, True),
        ([(224, 2.0, 1.9), (448, 0.9, 0.8), (672, 3.0, 2.5)], 672, 448, True),
        ([(224, 2.0, 1.9), (448, 0.9, 0.8)], None, 448, False),
        ([(224, 0.5, None), (448, 1.5, None)], 448, 224, False),
        ([(448, 1.5, None), (224, 0.5, 0.4)], 448, 224, False),
        ([(224, 1.0, None), (448, 1.5, 1.0), (672, 3.0, 2.5)], 672, 448, True),
    ],
)
def test_it_wins_from_the_first_size_above_the_last_at_which_it_may_lose(
    rows, from_px, not_at_px, sure
):
    found = curve(*rows)
    assert (found.from_px, found.not_at_px, found.sure) == (from_px, not_at_px, sure)


def test_each_curve_has_its_own(grid):
    for length_px, cuda_s in ((224, 2.0), (448, 0.5)):
        grid.trial({"length_px": length_px, "device": "cpu"}, [1.0, 1.0])
        grid.trial({"length_px": length_px, "device": "cuda"}, [9.0, cuda_s])
    first, steady = sorted(grid.found().wins, key=lambda one: one.measure)
    assert (first.measure, first.from_px) == ("first", None)
    assert (steady.measure, steady.from_px, steady.smallest_px) == ("steady", 448, 224)
