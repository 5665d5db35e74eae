"""A test is called slower only where its trials show it, and how much is told where it can be."""

import pytest

from pyscale.analysis.machine.beside import (
    compared_tests,
    machine_speedups,
    machines_beside,
    machines_side_by_side,
)

BYTES = {"amount": 100.0, "unit": "B"}
SAME_SIZE = {"storage": "the same size"}
MAPS = {"amount": 2.0, "unit": "map"}
SIX = (1.0, 1.01, 1.02, 1.03, 1.04, 1.05)
FIRST = [{"first_call": 1.0}, *[{"first_call": 0.0}] * 5]


def judged(base, new):
    sides = [base, new]
    return compared_tests(sides, machines_side_by_side(sides), 0, 1).to_dicts()


@pytest.mark.parametrize(
    ("walls_s", "others_s", "how", "verdict", "reason", "basis"),
    [
        (SIX, [1.5 * wall_s for wall_s in SIX], {}, "worse", None, "time"),
        ([1.5 * wall_s for wall_s in SIX], SIX, {}, "better", None, "time"),
        (SIX, SIX, {}, "same", None, "time"),
        # Five trials are undecided, and first calls are not counted.
        (SIX, SIX[:5], {}, "not enough data", "few-trials", "time"),
        (SIX, SIX, {"details": FIRST}, "not enough data", "few-trials", "time"),
        # One process each decides nothing however often it repeated.
        (SIX, [2 * s for s in SIX], {"inside": 1}, "not enough data", "few-trials", "time"),
        # Seconds of each unit are judged where amounts differ.
        (SIX, [2 * s for s in SIX], {"amount": 200.0}, "same", None, "rate"),
    ],
)
def test_six_trials_that_are_all_slower_are_worse(
    new, walls_s, others_s, how, verdict, reason, basis
):
    base = new().test("read_cold", *walls_s, **BYTES | ({} if "amount" in how else how)).side()
    (row,) = judged(base, new().test("read_cold", *others_s, **BYTES | how).side())
    assert (row["verdict"], row["reason"], row["basis"]) == (verdict, reason, basis)
    if reason is None:
        assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
        assert row["ratio"] == pytest.approx({"worse": 1.5, "better": 1 / 1.5, "same": 1}[verdict])
    counted = {"details": 5, "inside": 1}.get(next(iter(how), ""), 6)
    assert row["base_repeats"] == counted


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


def speedup_of(base, other, **where):
    """The one speedup of the second over the first."""
    table = machine_speedups(machines_side_by_side([base, other]))
    (row,) = table.filter(base=0, side=1, **where).to_dicts()
    return row


OTHER = {"storage": "another size"}


@pytest.mark.parametrize(
    ("told", "others", "sizes", "speedup", "why"),
    [
        (BYTES, BYTES, SAME_SIZE, 2.0, "time"),
        # Nodes of runs with other numbers of nodes are compared.
        (BYTES, BYTES | {"workers": 8}, SAME_SIZE, 2.0, "time"),
        (BYTES, BYTES | {"amount": 300.0}, SAME_SIZE, 6.0, "rate"),
        # Bytes are as large whatever the parameters, and maps are not.
        (BYTES, BYTES, OTHER, 2.0, "rate"),
        (MAPS, MAPS, OTHER, None, "other-size"),
        (MAPS, MAPS, {}, None, "unknown-size"),
        (BYTES, {}, SAME_SIZE, None, "unknown-amount"),
        (BYTES, BYTES | {"unit": "file"}, SAME_SIZE, None, "other-unit"),
    ],
)
def test_equal_work_is_compared_by_times_and_like_units_by_rates(
    new, told, others, sizes, speedup, why
):
    base = new().test("fsc", 4.0, **told).side()
    found = speedup_of(base, new().test("fsc", 2.0, **others).side(sizes))
    assert found["speedup"] == (speedup and pytest.approx(speedup))
    assert found["why_not" if speedup is None else "basis"] == why
    assert found["basis" if speedup is None else "why_not"] is None


def test_a_step_without_an_amount_is_compared_where_its_test_did_as_much(new):
    def tested(whole, step, maps):
        machine = new().test("fsc", whole, amount=maps, unit="map")
        return machine.test("fsc", step, step="fft").side()

    found = speedup_of(tested(4.0, 2.0, 2.0), tested(4.0, 0.5, 2.0), step="fft")
    assert (found["speedup"], found["basis"]) == (4.0, "time")
    found = speedup_of(tested(4.0, 2.0, 2.0), tested(4.0, 0.5, 6.0), step="fft")
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
    assert speedup_of(base, other)["why_not"] == "not-in-base"


@pytest.mark.parametrize("cache", ["warm", "unsupported", "evicted-unverified"])
def test_a_cold_read_that_was_not_proved_to_be_one_is_compared_with_none(new, cache):
    cold = new().test("read_cold", *SIX, cache="verified-cold", **BYTES).side()
    doubted = new().test("read_cold", *(s / 5 for s in SIX), cache=cache, **BYTES).side()
    for base, other in ((cold, doubted), (doubted, cold)):
        found = speedup_of(base, other)
        assert (found["speedup"], found["why_not"]) == (None, "not-cold")
    assert machines_beside([cold, doubted]).pairs[0, 1]["verdict"].to_list() == [None]


def test_gpus_stand_beside_each_other_whatever_their_names(new):
    kernels = {"kind": "kernels", "stage": "kernels", "amount": 1.0, "unit": "flop"}
    base = new().test("fft", 9.0, **kernels).test("fft", 4.0, device="GTX 1080", **kernels)
    other = new().test("fft", 2.0, device="H200 #0", **kernels)
    other = other.test("fft", 3.0, device="H200 #1", **kernels)
    table = machines_side_by_side([base.side(), other.side()])
    assert table.select("side", "device", "own_device").rows() == [
        (0, "processor", None),
        (0, "GPU", "GTX 1080"),
        (1, "GPU", "H200 #0"),
        (1, "GPU 2", "H200 #1"),
    ]


def test_storage_comes_first_and_a_test_before_its_steps(new):
    machine = new().test("fft", 1.0, kind="kernels", stage="kernels")
    machine.test("write", 1.0, step="flush").test("write", 3.0)
    found = machines_side_by_side([machine.side()])
    assert found.select("kind", "test", "step").rows() == [
        ("storage", "write", None),
        ("storage", "write", "flush"),
        ("kernels", "fft", None),
    ]


def test_entries_are_named_only_where_several_did_one_test(new):
    machine = new().test("read_cold", 1.0)
    assert machines_side_by_side([machine.side()])["entry"].to_list() == [None]
    machine.test("read_cold", 2.0, stage="storage_of_gpfs")
    found = machines_side_by_side([machine.side()])
    assert found["entry"].to_list() == ["storage", "storage_of_gpfs"]
