"""The parts of a call add up to it, and what is no faster on a device bounds its speedup."""

import pytest

CPU = {"length_px": 224, "device": "cpu"}
CUDA = {"length_px": 224, "device": "cuda"}


@pytest.fixture
def both(grid):
    """A network ten times as fast, dynamics that are not, and a transfer that the CPU lacks."""
    grid.at(
        CPU,
        [20.0, 10.0, 10.0],
        builds=[2.0],
        parts={"network": 18.0},
        later_parts={"network": 8.0, "flow_dynamics": 1.0, "stitch": 0.5},
    )
    grid.at(
        CUDA,
        [9.0, 3.0, 3.0],
        parts={"network": 8.0},
        later_parts={"to_device": 0.5, "network": 0.8, "flow_dynamics": 1.0, "stitch": 0.0},
    )
    return grid.found()


def test_parts_and_what_none_covers_are_the_call(both):
    parts = both.parts.filter(value="cpu")
    assert parts.select("part", "part_s", "share").rows() == [
        ("network", 8.0, 0.8),
        ("flow_dynamics", 1.0, 0.1),
        ("stitch", 0.5, 0.05),
        ("to_device", 0.0, 0.0),
        ("unattributed", 0.5, 0.05),
    ]
    for _, own in both.parts.group_by("value"):
        assert own["share"].sum() == pytest.approx(1)


def test_a_process_counts_once_however_many_calls_it_made(grid):
    grid.at(CPU, [9.0, 2.0, 2.0, 2.0], later_parts={"network": 1.0})
    grid.at(CPU, [9.0, 6.0], block=2, later_parts={"network": 5.0})
    (network, unattributed) = grid.found().parts["part_s"]
    assert (network, unattributed) == (3.0, 1.0)


@pytest.mark.parametrize(
    ("calls", "builds"),
    [
        # Building the model before each call is no part of one.
        ([4.0, 4.0], [2.0, 2.0]),
        # First calls count where there are no others.
        ([4.0], [None]),
    ],
)
def test_the_parts_are_those_of_calls(grid, calls, builds):
    grid.at(CPU, calls, builds=builds, parts={"network": 3.0})
    rows = grid.found().parts.select("part", "part_s", "share").rows()
    assert rows == [("network", 3.0, 0.75), ("unattributed", 1.0, 0.25)]


def test_what_is_no_faster_bounds_the_ratio(both):
    (row,) = both.unaided.to_dicts()
    assert row["parts"] == ["flow_dynamics", "unattributed", "to_device"]
    assert row["unaided_s"] == pytest.approx(1.0 + 0.7 + 0.5)
    assert row["share"] == pytest.approx(2.2 / 3)
    assert row["bound"] == pytest.approx(10 / 2.2)
    ratio = both.ratios.filter(measure="steady")["ratio"][0]
    assert ratio < row["bound"]


@pytest.mark.parametrize(
    ("cpu", "cuda", "slow", "unaided_s", "bound"),
    [
        # A part that gains a tenth is not sped up, and one that gains a third is.
        ({"a": 1.1, "b": 1.9}, {"a": 1.0, "b": 1.4}, ["a"], 1.0, 3.0),
        ({"a": 3.0}, {"a": 2.4}, [], 0, None),
    ],
)
def test_what_is_sped_up_bounds_nothing(grid, cpu, cuda, slow, unaided_s, bound):
    grid.at(CPU, [9.0, 3.0], parts=cpu).at(CUDA, [9.0, 2.4], parts=cuda)
    (row,) = grid.found().unaided.to_dicts()
    assert (row["parts"], row["unaided_s"], row["bound"]) == (slow, unaided_s, bound)


def test_parts_are_medians_over_timed_trials_and_calls_without_parts_have_none(grid):
    grid.at(CPU, [4.0, 3.0], builds=[1.0])
    found = grid.found()
    assert found.parts.is_empty()
    assert found.unaided.is_empty()
    for block, network_s in ((2, 1.0), (3, 3.0), (4, 2.0)):
        grid.at(CPU, [9.0, 4.0], block=block, parts={"network": network_s})
    grid.at(CPU, [9.0, 4.0], block=5, parts={"network": 4.0}, attempt=2)
    assert grid.found().parts["part_s"][0] == 2
