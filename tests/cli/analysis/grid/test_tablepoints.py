"""A table of times by device and size becomes points, and each machine's devices its own series."""

import polars as pl
import pytest

from pyscale.analysis.grid.findings import grid_findings_of_table
from pyscale.analysis.grid.points import device_of, trials_of_sizes
from pyscale.analysis.scaling import configurations


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("cpu", ("", "cpu", "")),
        ("CPU", ("", "cpu", "")),
        ("desktop-gpu-rtx4070", ("desktop", "gpu", "rtx4070")),
        ("macbook-m1-mps", ("macbook-m1", "mps", "")),
        ("cuda-H200-SXM", ("", "cuda", "H200-SXM")),
        ("desktop", None),
        ("cpus", None),
        ("cpu-gpu", None),
        ("", None),
    ],
)
def test_the_name_of_a_device_tells_machine_kind_and_model(name, parts):
    assert device_of(name) == parts


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
