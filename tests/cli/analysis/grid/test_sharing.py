"""N workers at one GPU are held against one worker there."""

from __future__ import annotations

from typing import Any

import pytest

POINT = {"length_px": 1000, "device": "cuda"}


def test_the_gain_is_the_throughput_of_all_over_that_of_one(grid: Any) -> None:
    grid.trial(POINT, [9.0, 2.0], gpu_sharing="mps")
    grid.trial(POINT, [9.0, 2.5], [9.0, 2.5], gpu_sharing="mps")
    (row,) = grid.found().sharing.to_dicts()
    assert (row["workers"], row["gpu_sharing"], row["measure"]) == (2, "mps", "steady")
    assert row["gain"] == pytest.approx(2 * 2.0 / 2.5)
    assert row["efficiency"] == pytest.approx(0.8)
    assert row["one_mp_s"] == pytest.approx(1 / 2)
    assert row["throughput_mp_s"] == pytest.approx(2 / 2.5)
    assert row["gain_low"] is None


def test_six_trials_of_both_give_it_an_interval(grid: Any) -> None:
    for block in range(1, 7):
        grid.trial(POINT, [9.0, 2.0 + block / 10], block=block)
        grid.trial(POINT, [9.0, 4.0 + block / 5], [9.0, 4.0 + block / 5], block=block)
    (row,) = grid.found().sharing.to_dicts()
    assert row["gain"] == pytest.approx(1)
    assert row["gain_low"] == pytest.approx(1)
    assert row["gain_high"] == pytest.approx(1)


def test_without_one_worker_there_is_nothing_to_hold_it_against(grid: Any) -> None:
    grid.trial(POINT, [9.0, 2.5], [9.0, 2.5])
    assert grid.found().sharing.is_empty()


def test_one_worker_alone_has_no_gain(grid: Any) -> None:
    grid.trial(POINT, [9.0, 2.0])
    assert grid.found().sharing.is_empty()
