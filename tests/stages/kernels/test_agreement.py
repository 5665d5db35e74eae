from __future__ import annotations

from typing import Any

from pyscale_stages.kernels.agreement import agreement_of
from pyscale_stages.machine.timingtable import timings_table
from pyscale_stages.timing import Timing

FEW = {"tests": ["fft", "fsc_tight", "memory_single_linear10_max_D7", "transfers"]}


def row(test: str = "triad", repeat: int = 0, **changed: Any) -> Timing:
    details = {"checksum": 2.0, "error": 0.0, "tolerance": 0.1} | changed.pop("details", {})
    given = {"test": test, "repeat": repeat, "wall_s": 1.0, "details": details} | changed
    return Timing(**given)


def same(one: list[Timing], two: list[Timing]) -> bool:
    return agreement_of(timings_table(one), timings_table(two), identical=False).same


def test_two_runs_agree_about_results_though_their_times_differ_and_another_seed_does_not(kernels):
    one, two, other = (
        kernels.done("run", output=name, seed=seed, **FEW)
        for name, seed in (("one", 0), ("two", 0), ("other", 1))
    )
    agreement = kernels.agreement(one, two)
    assert agreement.same
    assert not agreement.identical
    assert agreement.details["compared_tests"] == 4
    assert not kernels.agreement(one, other).same


def test_times_do_not_count_and_checksums_do():
    reference = [row(), row(repeat=1)]
    assert same(reference, [row(wall_s=9.0), row(repeat=1, wall_s=0.1)])
    assert same(reference, [row(details={"checksum": 2.001})])
    assert not same(reference, [row(details={"checksum": 2.01})])
    assert not same(reference, [row(), row(repeat=1, details={"checksum": 2.01})])


def test_a_wrong_result_agrees_with_nothing():
    assert not same([row()], [row(details={"error": 0.2})])
    assert not same([row()], [row(), row(repeat=1, details={"error": 0.2})])
    without_error = Timing(test="triad", repeat=0, wall_s=1.0)
    assert not same([without_error], [without_error])


def test_a_test_that_does_not_apply_to_one_device_is_not_compared():
    absent = row("picking", wall_s=None, why_not="not applicable: no kernel", details={})
    assert same([row(), absent], [row(), row("picking")])
    assert not same([absent], [absent])


def test_a_test_that_failed_or_is_missing_is_a_difference():
    failed = row("picking", wall_s=None, why_not="memory ran out", details={})
    assert not same([row(), failed], [row(), row("picking")])
    assert not same([row()], [row(), row("picking")])
