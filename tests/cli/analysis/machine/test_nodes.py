"""Nodes are set beside the median of all, and one is called an outlier only where that is sure."""

import pytest

from pyscale.analysis.machine.findings import NODE_SCHEMA, node_comparison

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
