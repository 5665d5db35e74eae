"""A test of a machine is called slower only where its trials show it."""

import numpy as np
import pytest

from pyscale.analysis.machine.comparison import compared_tests
from pyscale.analysis.machine.sidebyside import machines_side_by_side

BYTES = {"amount": 100.0, "unit": "B"}
SIX = (1.0, 1.01, 1.02, 1.03, 1.04, 1.05)


def judged(base, new):
    sides = [base, new]
    return compared_tests(sides, machines_side_by_side(sides), 0, 1).to_dicts()


def test_six_trials_that_are_all_slower_are_worse(new):
    base = new().test("read_cold", *SIX, **BYTES).side()
    slower = new().test("read_cold", *(1.5 * wall for wall in SIX), **BYTES).side()
    (row,) = judged(base, slower)
    assert (row["verdict"], row["basis"]) == ("worse", "time")
    assert row["ratio"] == pytest.approx(1.5)
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
    (row,) = judged(slower, base)
    assert row["verdict"] == "better"
    (row,) = judged(base, base)
    assert row["verdict"] == "same"


def test_five_trials_are_undecided(new):
    base = new().test("read_cold", *SIX, **BYTES).side()
    (row,) = judged(base, new().test("read_cold", *SIX[:5], **BYTES).side())
    assert (row["verdict"], row["reason"]) == ("not enough data", "few-trials")


def test_first_calls_are_not_counted(new):
    told = [{"first_call": 1.0}, *[{"first_call": 0.0}] * 5]
    base = new().test("fft", *SIX, details=told, **BYTES).side()
    (row,) = judged(base, base)
    assert (row["base_repeats"], row["reason"]) == (5, "few-trials")


def test_seconds_of_each_unit_are_judged_where_amounts_differ(new):
    base = new().test("read_cold", *SIX, amount=100.0, unit="B").side()
    twice = new().test("read_cold", *(2 * w for w in SIX), amount=200.0, unit="B").side()
    (row,) = judged(base, twice)
    assert (row["verdict"], row["basis"], row["ratio"]) == ("same", "rate", 1.0)


def test_steps_are_judged_only_where_they_are_all_that_was_timed(new):
    machine = new().test("write", 1.0, **BYTES).test("write", 0.5, step="flush", **BYTES)
    machine.test("eer", 1.0, step="decode", kind="decompress", stage="decompress", **BYTES)
    tested = machine.side()
    rows = judged(tested, tested)
    assert [(row["test"], row["step"]) for row in rows] == [("write", None), ("eer", "decode")]


def test_forty_tests_of_storage_can_be_told_apart_by_six_trials(new):
    base, slower = new(), new()
    for kind in ("storage", "kernels"):
        for number in range(40):
            where = {"kind": kind, "stage": kind, **BYTES}
            base.test(f"test{number:02d}", *SIX, **where)
            slower.test(f"test{number:02d}", *(2 * wall for wall in SIX), **where)
    rows = judged(base.side(), slower.side())
    assert {row["verdict"] for row in rows} == {"worse"}


def test_what_only_one_did_has_no_verdict(new):
    base = new().test("read_cold", 1.0, **BYTES).side()
    other = new().test("read_warm", 1.0, **BYTES).side()
    rows = judged(base, other)
    assert [(row["base_repeats"], row["new_repeats"]) for row in rows] == [(1, None), (None, 1)]
    assert {row["verdict"] for row in rows} == {None}


def test_repeats_that_share_a_process_are_not_taken_for_independent(new):
    """Processes scatter by 30 %, repeats inside one by 1 %; nothing differs between the two."""
    rng = np.random.default_rng(1)

    def measured():
        machine = new()
        for block in range(6):
            for number in range(20):
                level_s = rng.lognormal(0, 0.3)
                repeats_s = level_s * rng.lognormal(0, 0.01, size=6)
                machine.test(f"test{number:02d}", *repeats_s, inside=block, **BYTES)
        return machine.side()

    rows = judged(measured(), measured())
    assert {row["base_repeats"] for row in rows} == {6}
    assert {row["verdict"] for row in rows} == {"not enough data"}


def test_two_runs_of_one_process_each_decide_nothing_however_often_it_repeated(new):
    base = new().test("read_cold", *SIX, inside=1, **BYTES).side()
    slower = new().test("read_cold", *(2 * wall for wall in SIX), inside=1, **BYTES).side()
    (row,) = judged(base, slower)
    assert (row["base_repeats"], row["verdict"]) == (1, "not enough data")
    assert row["reason"] == "few-trials"
