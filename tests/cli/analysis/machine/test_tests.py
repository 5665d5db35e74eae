"""A row of a test holds what was measured, how sure that is, and nothing where nothing was."""

import polars as pl
import pytest

from pyscale.analysis.machine.findings import (
    NODE_SCHEMA,
    TEST_SCHEMA,
    machine_findings,
    machine_tests,
    node_comparison,
)
from pyscale.store.tables import timing_schema

SIX = (4.0, 2.0, 8.0, 5.0, 10.0, 1.0)
KERNELS = {"kind": "kernels", "stage": "kernels"}


@pytest.mark.parametrize(
    ("walls_s", "median", "low", "high"),
    [
        # Sorted 1 2 4 5 8 10: the extremes of six enclose the median in 96.9 % of cases.
        (SIX, 4.5, 1, 10),
        # Of nine the second from either end still covers 96.1 %.
        (tuple(map(float, range(1, 10))), 5, 2, 8),
        (SIX[:5], 5, None, None),
    ],
)
def test_the_time_is_the_median_and_the_rate_is_what_was_done_over_it(
    machine, walls_s, median, low, high
):
    machine.test("particle_write", *walls_s, amount=90.0, unit="B")
    row = machine.only()
    assert list(row) == list(TEST_SCHEMA)
    assert (row["wall_s"], row["wall_s_low"], row["wall_s_high"]) == (median, low, high)
    rates = tuple(end and 90 / end for end in (median, high, low))
    assert (row["rate"], row["rate_low"], row["rate_high"]) == rates
    assert (row["repeats"], row["unit"], row["why_not"]) == (len(walls_s), "B", "")
    assert row["flags"] == (["few-repeats"] if len(walls_s) < 6 else [])


def test_what_cannot_run_here_has_a_reason_and_no_number(machine):
    machine.test("particle_random_read_direct", None, None, why_not="refused", amount=None)
    machine.test("particle_write", *SIX)
    # A test that failed later keeps the times that it has.
    machine.test("picking", 3.0, 5.0, **KERNELS).test("picking", None, why_not="full", **KERNELS)
    rows = {row["test"]: row for row in machine.tests.to_dicts()}
    absent, later = rows["particle_random_read_direct"], rows["picking"]
    assert (absent["why_not"], absent["repeats"], absent["flags"]) == ("refused", 0, [])
    numbers = ("wall_s", "rate", "percent", "first_s", "iops", "wall_s_low", "rate_low")
    assert [absent[name] for name in numbers] == [None] * len(numbers)
    assert rows["particle_write"]["percent"] == 1
    assert (later["wall_s"], later["repeats"], later["why_not"]) == (4, 2, "")


def test_first_calls_are_told_apart_for_each_process(machine):
    first = [{"first_call": 1.0}] + [{"first_call": 0.0}] * 6
    machine.test("alone", 99.0, details={"first_call": 1.0}, amount=1.0, unit="flop")
    for block, first_s in enumerate((10.0, 14.0), start=1):
        machine.test("both", first_s, 2.0, details=first[:2], inside=block)
    machine.test("many", 99.0, *SIX, details=first, inside=1)
    alone, both, many = machine.tests.sort("test").to_dicts()
    assert (many["first_s"], many["wall_s"], many["calls"]) == (99, 4.5, 6)
    assert (both["first_s"], both["wall_s"], both["repeats"]) == (12, 2, 2)
    assert [alone[name] for name in ("first_s", "wall_s", "rate", "percent")] == [99, *[None] * 3]
    assert alone["flags"] == ["first-call-only"]


def test_processes_that_measured_at_once_are_one_trial(machine):
    for block in (1, 2, 3):
        for task, wall_s in (("w0", 1.0), ("w1", 3.0)):
            machine.test("particle_write", wall_s, inside=block, task=task, workers=2)
    row = machine.only()
    assert (row["processes"], row["repeats"], row["calls"]) == (2, 3, 6)
    assert row["wall_s"] == 2
    # Within a process too the state of which least was proved is that of all.
    for cache in ("verified-cold", "warm", "verified-cold"):
        machine.test("read_cold", 1.0, inside=1, cache=cache)
    assert machine.tests.filter(test="read_cold")["cache"].to_list() == ["warm"]


def test_the_steps_of_a_test_add_up_to_it_however_they_scatter(machine):
    machine.test("particle_write", 5.0, 5.0, 8.0, inside=1)
    machine.test("particle_write", 1.0, 4.0, 4.0, step="write", inside=1)
    machine.test("particle_write", 4.0, 1.0, 4.0, step="flush", inside=1)
    whole, *steps = machine.tests.to_dicts()
    # The medians alone would be 4 / 5 each.
    assert [step["percent"] for step in steps] == [0.5, 0.5]
    assert whole["percent"] == 1


def test_where_a_test_is_timed_in_steps_alone_they_stand_for_themselves(machine):
    how = {"kind": "decompress", "stage": "decompress"}
    machine.test("tiff_lzw", 1.0, step="read", **how)
    for at_once in (1, 2):
        machine.test("tiff_lzw", 6.0 / at_once, step="decode", at_once=at_once, **how)
    tests = machine.tests
    assert tests["whole"].all()
    assert tests["percent"].to_list() == [0.1, 0.6, 0.3]
    assert tests["flags"].to_list() == [["few-repeats"]] * 3


def test_steps_of_several_threads_may_overlap_and_say_so(machine):
    machine.test("disk_multi", 4.0, at_once=2, **KERNELS)
    machine.test("disk_multi", 3.0, at_once=2, step="fft", **KERNELS)
    flags = machine.tests["flags"].to_list()
    assert ["steps-overlap" in codes for codes in flags] == [False, True]


@pytest.mark.parametrize(
    ("name", "states", "state", "flags"),
    [
        ("cold", ["verified-cold", "evicted-unverified"] * 3, "evicted-unverified", None),
        ("cold", ["evicted-unverified", "warm"] * 3, "warm", ["warm-not-cold"]),
        ("cold", ["verified-cold"] * 6 + ["warm"], "warm", ["warm-not-cold"]),
        ("cold", ["verified-cold"] * 6 + ["unsupported"], "unsupported", ["cache-uncontrolled"]),
        ("warm", ["warm"] * 6, "warm", []),
        ("warm", ["unsupported"] * 6, "unsupported", ["cache-uncontrolled"]),
    ],
)
def test_a_read_is_in_the_state_of_which_least_is_proved(machine, name, states, state, flags):
    for block, cache in enumerate(states):
        machine.test(f"movie_read_tiff_{name}", 1.0, 2.0, cache=cache, inside=block)
    row = machine.only()
    assert (row["cache"], row["flags"]) == (state, [state] if flags is None else flags)


@pytest.mark.parametrize(
    ("judged", "wrong"),
    [
        ({"error": 0.1, "tolerance": 0.1}, False),
        ({"error": 0.2, "tolerance": 0.1}, True),
        ({"error": 0.2, "tolerance": 0.1, "first_call": 1.0}, True),
        # An error that is no number cannot be in JSON.
        ({"tolerance": 0.1}, True),
        ({}, False),
    ],
)
def test_one_wrong_result_makes_a_test_wrong(machine, judged, wrong):
    right = {"error": 0.01, "tolerance": 0.1}
    machine.test("fft_3d", *SIX, details=[judged, *[right] * 5])
    row = machine.only()
    assert ("disagrees" in row["flags"]) is wrong
    assert (row["error"], row["tolerance"]) == (max(0.01, judged.get("error", 0)), 0.1)


def test_trials_that_did_not_do_the_same_have_no_common_rate(machine):
    machine.test("particle_write", 1.0, amount=10.0, unit="B", inside=1)
    machine.test("particle_write", 2.0, amount=20.0, unit="B", inside=2)
    row = machine.only()
    assert (row["wall_s"], row["amount"], row["rate"]) == (1.5, None, None)


def test_no_timings_are_no_rows_and_one_of_an_unknown_node_is(machine):
    none = pl.DataFrame(schema=timing_schema())
    assert machine_findings(none, {}, measuring=()) is None
    found = machine_tests(none)
    assert found.is_empty()
    assert dict(found.schema) == TEST_SCHEMA
    machine.test("particle_write", *SIX, node=None, hardware=None)
    assert machine.only()["percent"] == 1


STEADY = (0.98, 0.99, 1.0, 1.0, 1.01, 1.02)


def rows(machine):
    return node_comparison(machine.tests).to_dicts()


def on_nodes(machine, *factors, walls_s=STEADY):
    """Let each node take so many times as long for 100 B."""
    for number, factor in enumerate(factors, 1):
        times = [wall_s * factor for wall_s in walls_s]
        machine.test("particle_write", *times, amount=100.0, unit="B", node=f"node{number}")


@pytest.mark.parametrize(
    ("factors", "repeats", "outliers"),
    [
        ((1, 1, 0.7), 6, [False, False, True]),
        # One within a fifth is an ordinary one, however sure it is that it is slower.
        ((1, 1, 1.2), 6, [False, False, False]),
        ((1, 3), 6, [None, None]),
        ((1, 1, 3), 5, [None, None, None]),
    ],
)
def test_an_outlier_is_far_from_others_and_told_by_enough_repeats(
    machine, factors, repeats, outliers
):
    on_nodes(machine, *factors, walls_s=STEADY[:repeats])
    assert [row["outlier"] for row in rows(machine)] == outliers
    assert {row["ratio_low"] is None for row in rows(machine)} == {repeats < 6}


def test_a_node_that_scatters_around_the_others_is_no_outlier(machine):
    on_nodes(machine, 1, 1)
    scattered = (0.9, 1.4, 1.4, 1.5, 1.5, 1.6)
    machine.test("particle_write", *scattered, amount=100.0, unit="B", node="node3")
    *_, last = rows(machine)
    assert last["ratio"] < 0.8
    assert last["ratio_high"] > 1
    assert last["outlier"] is False


def test_where_no_amount_is_told_speeds_are_compared(machine):
    for node, wall_s in (("node1", 2.0), ("node2", 4.0)):
        machine.test("launch_latency", wall_s, node=node)
    one, two = rows(machine)
    assert (one["rate"], two["rate"], one["unit"]) == (0.5, 0.25, None)
    assert one["ratio"] == pytest.approx(0.5 / 0.375)


def test_what_one_node_did_or_none_could_is_not_compared(machine):
    machine.test("particle_write", 1.0)
    machine.test("picking", None, why_not="no")
    machine.test("picking", None, why_not="no", node="node2")
    machine.test("fft_2d", 1.0)
    machine.test("fft_2d", 1.0, node="node2", details={"error": 1.0, "tolerance": 0.1})
    found = node_comparison(machine.tests)
    assert found.is_empty()
    assert dict(found.schema) == NODE_SCHEMA
