"""How much faster one machine is than another, and why that cannot be said."""

import pytest

from pyscale.analysis.machine.comparison import machine_speedups, machines_beside
from pyscale.analysis.machine.sidebyside import machines_side_by_side

BYTES = {"amount": 100.0, "unit": "B"}
MAPS = {"amount": 2.0, "unit": "map"}
SIX = (1.0, 1.01, 1.02, 1.03, 1.04, 1.05)


def speedup(base, other, **where):
    """The one speedup of the second over the first."""
    table = machine_speedups(machines_side_by_side([base, other]))
    (row,) = table.filter(base=0, side=1, **where).to_dicts()
    return row


def test_equal_work_is_compared_by_its_times(new):
    base = new().test("read_cold", 4.0, **BYTES).side()
    found = speedup(base, new().test("read_cold", 2.0, **BYTES).side())
    assert (found["speedup"], found["basis"], found["why_not"]) == (2.0, "time", None)


def test_other_amounts_of_one_unit_are_compared_by_their_rates(new):
    base = new().test("read_cold", 4.0, amount=100.0, unit="B").side()
    found = speedup(base, new().test("read_cold", 4.0, amount=300.0, unit="B").side())
    assert found["speedup"] == pytest.approx(3.0)
    assert found["basis"] == "rate"


def test_bytes_of_other_parameters_are_compared_by_rates_and_maps_are_not(new):
    other = {"storage": "another size"}
    by_bytes = new().test("read_cold", 4.0, **BYTES).side()
    found = speedup(by_bytes, new().test("read_cold", 2.0, **BYTES).side(other))
    assert (found["speedup"], found["basis"]) == (2.0, "rate")
    by_maps = new().test("fsc_tight", 4.0, **MAPS).side()
    found = speedup(by_maps, new().test("fsc_tight", 2.0, **MAPS).side(other))
    assert (found["speedup"], found["why_not"]) == (None, "other-size")
    found = speedup(by_maps, new().test("fsc_tight", 2.0, **MAPS).side({}))
    assert found["why_not"] == "unknown-size"


def test_an_amount_that_nobody_told_is_not_taken_for_equal(new):
    base = new().test("read_cold", 4.0, **BYTES).side()
    found = speedup(base, new().test("read_cold", 2.0).side())
    assert (found["speedup"], found["why_not"]) == (None, "unknown-amount")


def test_a_unit_must_be_the_same(new):
    base = new().test("read_cold", 4.0, **BYTES).side()
    found = speedup(base, new().test("read_cold", 2.0, amount=100.0, unit="file").side())
    assert found["why_not"] == "other-unit"


def test_a_step_without_an_amount_is_compared_where_its_test_did_as_much(new):
    def tested(whole, step, maps):
        machine = new().test("fsc", whole, amount=maps, unit="map")
        return machine.test("fsc", step, step="fft").side()

    found = speedup(tested(4.0, 2.0, 2.0), tested(4.0, 0.5, 2.0), step="fft")
    assert (found["speedup"], found["basis"]) == (4.0, "time")
    found = speedup(tested(4.0, 2.0, 2.0), tested(4.0, 0.5, 6.0), step="fft")
    assert (found["speedup"], found["why_not"]) == (None, "other-amount")


def test_a_wrong_result_has_no_speedup_and_neither_have_its_steps(new):
    wrong = {"error": 1.0, "tolerance": 0.1}
    base = new().test("fsc", 4.0, **MAPS).test("fsc", 1.0, step="fft").side()
    machine = new().test("fsc", 2.0, details=wrong, **MAPS).test("fsc", 0.5, step="fft")
    table = machine_speedups(machines_side_by_side([base, machine.side()]))
    assert table.filter(base=0)["why_not"].to_list() == ["wrong-result", "wrong-result"]


def test_what_cannot_run_has_no_time_and_no_speedup(new):
    base = new().test("read_direct", None, why_not="the filesystem refuses").side()
    other = new().test("read_direct", 2.0, **BYTES).side()
    table = machines_side_by_side([base, other])
    assert table["wall_s"].to_list() == [None, 2.0]
    assert table["why_not"].to_list() == ["the filesystem refuses", ""]
    assert speedup(base, other)["why_not"] == "not-in-base"


def test_nodes_of_runs_with_other_numbers_of_nodes_are_compared(new):
    base = new().test("read_cold", 4.0, **BYTES).side()
    found = speedup(base, new().test("read_cold", 2.0, workers=8, **BYTES).side())
    assert found["speedup"] == 2.0


def test_the_interval_of_a_speedup_is_that_of_the_ratio_turned_round(new):
    sides = [
        new().test("read_cold", *SIX, **BYTES).side(),
        new().test("read_cold", *(2 * wall for wall in SIX), **BYTES).side(),
    ]
    found = machines_beside(sides)
    (row,) = found.speedups.filter(base=0).to_dicts()
    (judged,) = found.pairs[0, 1].to_dicts()
    assert row["speedup_low"] == pytest.approx(1 / judged["ratio_high"])
    assert row["speedup_low"] < row["speedup"] < row["speedup_high"]


@pytest.mark.parametrize("cache", ["warm", "unsupported", "evicted-unverified"])
def test_a_cold_read_that_was_not_proved_to_be_one_is_compared_with_none(new, cache):
    cold = new().test("read_cold", *SIX, cache="verified-cold", **BYTES).side()
    doubted = new().test("read_cold", *(s / 5 for s in SIX), cache=cache, **BYTES).side()
    for base, other in ((cold, doubted), (doubted, cold)):
        found = speedup(base, other)
        assert (found["speedup"], found["why_not"]) == (None, "not-cold")
    assert machines_beside([cold, doubted]).pairs[0, 1]["verdict"].to_list() == [None]
