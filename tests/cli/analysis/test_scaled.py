from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.analysis.scaled import (
    scaled_configurations,
    scaled_serial_fraction,
    scaled_speedup,
    weak_efficiency,
)


def trials(rows, *, repeats=1):
    """Trials of (workers, wall time, work)."""
    return pl.DataFrame(
        [
            {
                "suite": "demo",
                "stage": "segment",
                "device": "cpu",
                "workers": workers,
                "block": block,
                "valid": True,
                "wall_s": float(wall_s) * (1 + block / 100),
                "work": work,
            }
            for block in range(repeats)
            for workers, wall_s, work in rows
        ]
    )


def test_the_same_time_for_as_much_work_per_worker_is_full_weak_efficiency():
    assert weak_efficiency(100, 100) == 1
    assert weak_efficiency(100, 125) == pytest.approx(0.8)
    assert scaled_speedup(100, 125, growth=8) / 8 == pytest.approx(0.8)


def test_gustafsons_serial_fraction_is_found_again():
    # On N workers 10 % of the time is serial; one worker would take 0.1 + 0.9 N.
    for workers in (2, 8, 1024):
        speedup = 0.1 + 0.9 * workers
        assert scaled_serial_fraction(speedup, workers) == pytest.approx(0.1)


def test_weak_scaling_is_recognised_and_compared_by_work_per_second():
    table = scaled_configurations(trials([(1, 100, 10), (2, 110, 20), (4, 125, 40)]))
    assert table["scaling"].to_list() == ["weak"] * 3
    assert table["scaled_speedup"].to_list() == pytest.approx([1, 2 / 1.1, 4 / 1.25])
    assert table["scaled_efficiency"].to_list() == pytest.approx([1, 1 / 1.1, 0.8])
    assert table["serial_fraction"].to_list() == [
        None,
        pytest.approx(2 - 2 / 1.1),
        pytest.approx((4 - 3.2) / 3),
    ]


def test_strong_scaling_gives_the_ordinary_speedup():
    table = scaled_configurations(trials([(2, 100, 80), (4, 60, 80)]))
    assert table["scaling"].to_list() == ["strong"] * 2
    assert table["baseline_workers"].to_list() == [2, 2]
    assert table["scaled_speedup"].to_list() == pytest.approx([1, 100 / 60])
    assert table["scaled_efficiency"].to_list() == pytest.approx([1, 100 / 120])
    assert table["serial_fraction"].null_count() == 2


def test_work_that_grew_otherwise_is_mixed_and_one_count_is_neither():
    assert set(scaled_configurations(trials([(1, 9, 1), (2, 9, 3)]))["scaling"]) == {"mixed"}
    assert scaled_configurations(trials([(4, 9, 1)]))["scaling"].to_list() == [None]


def test_six_repeats_give_an_interval_in_which_drift_of_blocks_cancels():
    rows = trials([(1, 100, 10), (2, 110, 20)], repeats=6)
    base, second = scaled_configurations(rows).to_dicts()
    assert base["scaled_speedup_low"] is None
    ends = second["scaled_speedup_low"], second["scaled_speedup_high"]
    assert ends == pytest.approx((2 / 1.1, 2 / 1.1))
    apart = scaled_configurations(rows, interleaved=False).row(1, named=True)
    assert apart["scaled_speedup_low"] < apart["scaled_speedup_high"]
    assert scaled_configurations(rows.head(10))["scaled_speedup_low"].null_count() == 2


@given(
    seconds=st.lists(st.floats(1, 1e4), min_size=4, max_size=4),
    factor=st.floats(1e-3, 1e3),
    order=st.permutations(range(4)),
)
def test_neither_the_unit_of_time_nor_the_order_of_rows_matters(seconds, factor, order):
    rows = [(n, wall_s, 10 * n) for n, wall_s in zip((1, 2, 4, 8), seconds, strict=True)]
    one = scaled_configurations(trials(rows))
    other = scaled_configurations(
        trials([(rows[place][0], rows[place][1] * factor, rows[place][2]) for place in order])
    )
    for column in ("scaled_speedup", "scaled_efficiency"):
        assert other[column].to_list() == pytest.approx(one[column].to_list())
