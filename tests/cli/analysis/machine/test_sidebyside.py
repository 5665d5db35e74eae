"""Tests of several machines beside each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from pyscale.analysis.machine.comparison import all_compared, compared_tests, timed_repeats
from pyscale.analysis.machine.sidebyside import (
    MachineSide,
    machine_speedups,
    machines_side_by_side,
)
from pyscale.analysis.machine.tests import machine_tests

SAME = {"storage": "the same size"}
BYTES = {"amount": 100.0, "unit": "B"}
MAPS = {"amount": 2.0, "unit": "map"}
SIX = (1.0, 1.01, 1.02, 1.03, 1.04, 1.05)


def side(machine: Any, sizes: dict[str, str] | None = None) -> MachineSide:
    return MachineSide(
        machine.tests, SAME if sizes is None else sizes, timed_repeats(machine.timings)
    )


def speedup(base: MachineSide, other: MachineSide, **where: Any) -> dict[str, Any]:
    """The one speedup of the second over the first."""
    table = machine_speedups(machines_side_by_side([base, other]))
    (row,) = table.filter(base=0, side=1, **where).to_dicts()
    return row


@pytest.fixture
def new(machine: Any) -> Callable[[], Any]:
    """Make one machine after the other."""
    return type(machine)


def test_equal_work_is_compared_by_its_times(new: Callable[[], Any]) -> None:
    base = side(new().test("read_cold", 4.0, **BYTES))
    found = speedup(base, side(new().test("read_cold", 2.0, **BYTES)))
    assert (found["speedup"], found["basis"], found["why_not"]) == (2.0, "time", None)


def test_other_amounts_of_one_unit_are_compared_by_their_rates(new: Callable[[], Any]) -> None:
    base = side(new().test("read_cold", 4.0, amount=100.0, unit="B"))
    found = speedup(base, side(new().test("read_cold", 4.0, amount=300.0, unit="B")))
    assert found["speedup"] == pytest.approx(3.0)
    assert found["basis"] == "rate"


def test_bytes_of_other_parameters_are_compared_by_rates_and_maps_are_not(
    new: Callable[[], Any],
) -> None:
    other = {"storage": "another size"}
    by_bytes = side(new().test("read_cold", 4.0, **BYTES))
    found = speedup(by_bytes, side(new().test("read_cold", 2.0, **BYTES), other))
    assert (found["speedup"], found["basis"]) == (2.0, "rate")
    by_maps = side(new().test("fsc_tight", 4.0, **MAPS))
    found = speedup(by_maps, side(new().test("fsc_tight", 2.0, **MAPS), other))
    assert (found["speedup"], found["why_not"]) == (None, "other-size")
    found = speedup(by_maps, side(new().test("fsc_tight", 2.0, **MAPS), {}))
    assert found["why_not"] == "unknown-size"


def test_an_amount_that_nobody_told_is_not_taken_for_equal(new: Callable[[], Any]) -> None:
    base = side(new().test("read_cold", 4.0, **BYTES))
    found = speedup(base, side(new().test("read_cold", 2.0)))
    assert (found["speedup"], found["why_not"]) == (None, "unknown-amount")


def test_a_unit_must_be_the_same(new: Callable[[], Any]) -> None:
    base = side(new().test("read_cold", 4.0, **BYTES))
    found = speedup(base, side(new().test("read_cold", 2.0, amount=100.0, unit="file")))
    assert found["why_not"] == "other-unit"


def test_a_step_without_an_amount_is_compared_where_its_test_did_as_much(
    new: Callable[[], Any],
) -> None:
    def tested(whole: float, step: float, maps: float) -> MachineSide:
        machine = new().test("fsc", whole, amount=maps, unit="map")
        return side(machine.test("fsc", step, step="fft"))

    found = speedup(tested(4.0, 2.0, 2.0), tested(4.0, 0.5, 2.0), step="fft")
    assert (found["speedup"], found["basis"]) == (4.0, "time")
    found = speedup(tested(4.0, 2.0, 2.0), tested(4.0, 0.5, 6.0), step="fft")
    assert (found["speedup"], found["why_not"]) == (None, "other-amount")


def test_a_wrong_result_has_no_speedup_and_neither_have_its_steps(new: Callable[[], Any]) -> None:
    wrong = {"error": 1.0, "tolerance": 0.1}
    base = side(new().test("fsc", 4.0, **MAPS).test("fsc", 1.0, step="fft"))
    machine = new().test("fsc", 2.0, details=wrong, **MAPS).test("fsc", 0.5, step="fft")
    table = machine_speedups(machines_side_by_side([base, side(machine)]))
    assert table.filter(base=0)["why_not"].to_list() == ["wrong-result", "wrong-result"]


def test_what_cannot_run_has_no_time_and_no_speedup(new: Callable[[], Any]) -> None:
    base = side(new().test("read_direct", None, why_not="the filesystem refuses"))
    other = side(new().test("read_direct", 2.0, **BYTES))
    table = machines_side_by_side([base, other])
    assert table["wall_s"].to_list() == [None, 2.0]
    assert table["why_not"].to_list() == ["the filesystem refuses", ""]
    assert speedup(base, other)["why_not"] == "not-in-base"


def test_gpus_stand_beside_each_other_whatever_their_names(new: Callable[[], Any]) -> None:
    kernels = {"kind": "kernels", "stage": "kernels", "amount": 1.0, "unit": "flop"}
    base = new().test("fft", 9.0, **kernels).test("fft", 4.0, device="GTX 1080", **kernels)
    other = new().test("fft", 2.0, device="H200 #0", **kernels)
    other = other.test("fft", 3.0, device="H200 #1", **kernels)
    table = machines_side_by_side([side(base), side(other)])
    assert table.select("side", "device", "own_device").rows() == [
        (0, "processor", None),
        (0, "GPU", "GTX 1080"),
        (1, "GPU", "H200 #0"),
        (1, "GPU 2", "H200 #1"),
    ]


def test_storage_comes_first_and_a_test_before_its_steps(new: Callable[[], Any]) -> None:
    machine = new().test("fft", 1.0, kind="kernels", stage="kernels")
    machine.test("write", 1.0, step="flush").test("write", 3.0)
    found = machines_side_by_side([side(machine)])
    assert found.select("kind", "test", "step").rows() == [
        ("storage", "write", None),
        ("storage", "write", "flush"),
        ("kernels", "fft", None),
    ]


def test_entries_are_named_only_where_several_did_one_test(new: Callable[[], Any]) -> None:
    machine = new().test("read_cold", 1.0)
    assert machines_side_by_side([side(machine)])["entry"].to_list() == [None]
    machine.test("read_cold", 2.0, stage="storage_of_gpfs")
    found = machines_side_by_side([side(machine)])
    assert found["entry"].to_list() == ["storage", "storage_of_gpfs"]


def test_nodes_of_runs_with_other_numbers_of_nodes_are_compared(new: Callable[[], Any]) -> None:
    base = side(new().test("read_cold", 4.0, **BYTES))
    found = speedup(base, side(new().test("read_cold", 2.0, workers=8, **BYTES)))
    assert found["speedup"] == 2.0


class TestVerdicts:
    def judged(self, base: MachineSide, new: MachineSide) -> list[dict[str, Any]]:
        sides = [base, new]
        return compared_tests(sides, machines_side_by_side(sides), 0, 1).to_dicts()

    def test_six_repeats_that_are_all_slower_are_worse(self, new: Callable[[], Any]) -> None:
        base = side(new().test("read_cold", *SIX, **BYTES))
        slower = side(new().test("read_cold", *(1.5 * wall for wall in SIX), **BYTES))
        (row,) = self.judged(base, slower)
        assert (row["verdict"], row["basis"]) == ("worse", "time")
        assert row["ratio"] == pytest.approx(1.5)
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
        (row,) = self.judged(slower, base)
        assert row["verdict"] == "better"
        (row,) = self.judged(base, base)
        assert row["verdict"] == "same"

    def test_five_repeats_are_undecided(self, new: Callable[[], Any]) -> None:
        base = side(new().test("read_cold", *SIX, **BYTES))
        (row,) = self.judged(base, side(new().test("read_cold", *SIX[:5], **BYTES)))
        assert (row["verdict"], row["reason"]) == ("not enough data", "few-trials")

    def test_first_calls_are_not_counted(self, new: Callable[[], Any]) -> None:
        told = [{"first_call": 1.0}, *[{"first_call": 0.0}] * 5]
        base = side(new().test("fft", *SIX, details=told, **BYTES))
        (row,) = self.judged(base, base)
        assert (row["base_repeats"], row["reason"]) == (5, "few-trials")

    def test_seconds_of_each_unit_are_judged_where_amounts_differ(
        self, new: Callable[[], Any]
    ) -> None:
        base = side(new().test("read_cold", *SIX, amount=100.0, unit="B"))
        twice = side(new().test("read_cold", *(2 * w for w in SIX), amount=200.0, unit="B"))
        (row,) = self.judged(base, twice)
        assert (row["verdict"], row["basis"], row["ratio"]) == ("same", "rate", 1.0)

    def test_steps_are_judged_only_where_they_are_all_that_was_timed(
        self, new: Callable[[], Any]
    ) -> None:
        machine = new().test("write", 1.0, **BYTES).test("write", 0.5, step="flush", **BYTES)
        machine.test("eer", 1.0, step="decode", kind="decompress", stage="decompress", **BYTES)
        tested = side(machine)
        rows = self.judged(tested, tested)
        assert [(row["test"], row["step"]) for row in rows] == [("write", None), ("eer", "decode")]

    def test_forty_tests_of_storage_can_be_told_apart_by_six_repeats(
        self, new: Callable[[], Any]
    ) -> None:
        base, slower = new(), new()
        for kind in ("storage", "kernels"):
            for number in range(40):
                where = {"kind": kind, "stage": kind, **BYTES}
                base.test(f"test{number:02d}", *SIX, **where)
                slower.test(f"test{number:02d}", *(2 * wall for wall in SIX), **where)
        rows = self.judged(side(base), side(slower))
        assert {row["verdict"] for row in rows} == {"worse"}

    def test_what_only_one_did_has_no_verdict(self, new: Callable[[], Any]) -> None:
        base = side(new().test("read_cold", 1.0, **BYTES))
        other = side(new().test("read_warm", 1.0, **BYTES))
        rows = self.judged(base, other)
        assert [(row["base_repeats"], row["new_repeats"]) for row in rows] == [(1, None), (None, 1)]
        assert {row["verdict"] for row in rows} == {None}

    def test_the_interval_of_a_speedup_is_that_of_the_ratio_turned_round(
        self, new: Callable[[], Any]
    ) -> None:
        sides = [
            side(new().test("read_cold", *SIX, **BYTES)),
            side(new().test("read_cold", *(2 * wall for wall in SIX), **BYTES)),
        ]
        table = machines_side_by_side(sides)
        pairs = all_compared(sides, table)
        (row,) = machine_speedups(table, pairs).filter(base=0).to_dicts()
        (judged,) = pairs[0, 1].to_dicts()
        assert row["speedup_low"] == pytest.approx(1 / judged["ratio_high"])
        assert row["speedup_low"] < row["speedup"] < row["speedup_high"]


def test_repeats_are_those_that_a_median_is_of(machine: Any) -> None:
    told = [{"first_call": 1.0}, {"first_call": 0.0}]
    machine.test("fft", 9.0, 1.0, details=told).test("read_direct", None).test("read_cold", 2.0)
    found = timed_repeats(machine.timings)
    assert found["wall_s"].to_list() == [1.0, 2.0]
    assert machine_tests(machine.timings).filter(pl.col("repeats") > 0).height == 2
