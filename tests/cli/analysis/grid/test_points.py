"""A point of a grid holds what was measured there, and the parts of its calls add up to them."""

import json

import polars as pl
import pytest

from pyscale.analysis.grid.findings import grid_findings_of_table
from pyscale.analysis.grid.points import POINT_SCHEMA, trials_of_sizes
from pyscale.analysis.scaling import configurations

CPU = {"length_px": 224, "device": "cpu"}
CUDA = {"length_px": 224, "device": "cuda"}


def only(grid, **how):
    (row,) = grid.found(**how).points.to_dicts()
    return row


def test_the_first_call_is_told_apart_from_the_later_ones(grid):
    grid.at(CPU, [5.0, 2.0, 4.0], builds=[1.5])
    # One call a process is a first one.
    grid.at(CUDA, [5.0])
    row, alone = grid.found().points.to_dicts()
    assert (row["first_s"], row["steady_s"], row["start_s"]) == (5, 3, 1.5)
    assert (row["trials"], row["calls"]) == (1, 3)
    assert list(row) == list(POINT_SCHEMA)
    assert (alone["first_s"], alone["steady_s"]) == (5, None)
    assert alone["throughput_mp_s"] == pytest.approx(224**2 / 1e6 / 5)


def test_the_size_is_that_of_what_the_call_was_given(grid):
    grid.at({"length_px": "full", "device": "cpu"}, [5.0, 4.0], length_px=300)
    row = only(grid)
    assert (row["pixels"], row["megapixels"], row["length_px"]) == (90_000, 0.09, 300)
    assert json.loads(row["point"]) == {"length_px": "full", "device": "cpu"}


def test_a_trial_that_was_tried_again_is_not_timed(grid):
    grid.at(CPU, [5.0, 2.0])
    grid.at(CPU, [5.0, 8.0], block=2, attempt=2)
    assert (only(grid)["steady_s"], only(grid)["trials"]) == (2, 1)


def test_the_worst_comparison_with_the_bases_output_counts(grid):
    for block, score in ((1, 0.98), (2, 0.9)):
        details = {"ap_iou50": 1.0, "ap_iou90": score, "cells_reference": 119, "cells_other": 116}
        grid.at(CUDA, [2.0, 1.0], block=block, beside=details)
    row = only(grid)
    assert (row["beside_ap_iou50"], row["beside_ap_iou90"]) == (1, 0.9)
    assert (row["beside_objects"], row["beside_objects_base"]) == (116, 119)


def test_a_value_that_is_a_number_says_what_it_counts_and_without_versus_nothing_has_a_base(grid):
    for threads in (1, 2):
        grid.at({"length_px": 64, "threads": threads}, [2.0, 1.0])
    points = grid.found(versus="threads").points
    assert points["value"].to_list() == ["threads 1", "threads 2"]
    assert points["base"].to_list() == [None, "threads 1"]
    points = grid.found(versus=None).points
    assert points["base"].null_count() == points["value"].null_count() == 2
    assert set(points["series"]) == {"threads 1", "threads 2"}


def test_a_point_of_which_every_trial_failed_is_there_with_the_size_asked_for(grid):
    grid.at(CPU, [2.0, 1.0]).at(CUDA, [5.0, 2.0], failed=["w0"])
    grid.at(CPU | {"length_px": "full"}, [], failed=["w0"])
    found = grid.found()
    assert found.points["length_px"].to_list() == [224, 224, None]
    columns = {"trials": [1, 0, 0], "calls": [2, 0, 0], "steady_s": [1.0, None, None]}
    assert {name: found.points[name].to_list() for name in columns} == columns
    assert found.points["flags"][1].to_list() == ["few-repeats", "failed-trials"]
    assert found.ratios.is_empty()


def test_a_stage_that_records_no_calls_has_points_without_times(grid):
    grid.at(CPU, []).at(CUDA, [])
    found = grid.found()
    assert found.points["steady_s"].null_count() == 2
    assert found.points["trials"].to_list() == [1, 1]
    assert found.ratios.is_empty()
    assert found.parts.is_empty()
    assert found.ceilings == found.wins == ()


TABLE = pl.DataFrame(
    [
        ("lab-gpu-a", 500.0, 2.0),
        ("lab-cpu", 500.0, 8.0),
        ("home-mps", 500.0, 4.0),
        ("home-cpu", 500.0, 6.0),
        ("cloud-cuda", 500.0, 1.0),
    ],
    schema=["device", "length_px", "wall_s"],
    orient="row",
)


def test_devices_are_compared_with_the_cpu_of_their_machine():
    (grid,) = grid_findings_of_table(TABLE, "times")
    found = grid.ratios.select("series", "value", "base", "ratio").rows()
    assert found == [
        ("lab", "lab-gpu-a", "lab-cpu", 4),
        ("home", "home-mps", "home-cpu", 1.5),
    ]
    assert grid.points.filter(value="cloud-cuda")["base"].to_list() == [None]
    assert (grid.family, grid.versus, grid.against) == ("times", "device", "length_px")
    # Its times are taken for steady ones.
    row = grid.points.row(0, named=True)
    times = [row[f"{measure}_s"] for measure in ("steady", "first", "start", "published")]
    assert times == [2, None, None, None]
    assert (row["megapixels"], row["throughput_mp_s"], row["trials"]) == (0.25, 0.125, 1)
    assert grid.parts.is_empty()
    # One machine is no series.
    (grid,) = grid_findings_of_table(TABLE.filter(pl.col("device").str.starts_with("lab")), "t")
    assert set(grid.points["series"]) == {""}
    assert grid.points["device"].to_list() == ["gpu", "cpu"]


@pytest.mark.parametrize("numbered", ["repeat", "block"])
def test_six_repeats_give_intervals(numbered):
    rows = [
        (device, 500.0, (1 + repeat / 100) * wall_s, repeat)
        for device, wall_s in (("cpu", 8.0), ("gpu", 2.0))
        for repeat in range(6)
    ]
    table = pl.DataFrame(rows, schema=["device", "length_px", "wall_s", numbered], orient="row")
    (grid,) = grid_findings_of_table(table, "times")
    point, ratio = grid.points.row(0, named=True), grid.ratios.row(0, named=True)
    assert (point["steady_s_low"], point["steady_s_high"]) == (8, 8.4)
    assert ratio["ratio"] == pytest.approx(4)
    # Both devices drift alike, which only blocks tell.
    assert (ratio["ratio_low"] == pytest.approx(4)) == (numbered == "block")
    assert ratio["trials"] == 6


def test_stages_are_grids_of_their_own():
    stages = pl.Series(["a", "b", "a", "a", "b"])
    found = grid_findings_of_table(TABLE.with_columns(stage=stages), "times")
    assert [one.family for one in found] == ["a", "b"]
    # The laboratory's CPU was not timed in b, so that nothing there has a base.
    assert found[1].points["base"].null_count() == 2
    assert found[1].ratios.is_empty()


def test_the_same_times_are_trials_under_the_names_of_the_points():
    (grid,) = grid_findings_of_table(TABLE, "times")
    rows = configurations(trials_of_sizes(TABLE, "times"), interleaved=False)
    assert rows["stage"].to_list() == grid.points["stage"].to_list()
    assert rows["suite"].to_list() == grid.points["suite"].to_list()
    assert rows["wall_s"].to_list() == grid.points["steady_s"].to_list()
    assert rows["stage"][0] == "times_500px_lab-gpu-a"
    assert rows["device"][0] == "gpu"


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
