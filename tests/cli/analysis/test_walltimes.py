from __future__ import annotations

import polars as pl
import pytest

from pyscale.analysis.losses import loss_table
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times

# TrackMate in pyCyto's published benchmark: its whole jobs, and their mean where known.
TRACKMATE = pl.DataFrame(
    {
        "stage": "trackmate_ch0",
        "workers": [1, 2, 4, 8],
        "tasks": [None, 2, 4, 8],
        "wall_s": [555.0, 332.0, 346.0, 313.0],
        "mean_task_s": [None, 332.0, 297.0, 246.0],
        "sd_task_s": [None, 0.0, 33.0, 100.0],
    }
)
# As printed beside pyCyto's table of wall times: speedup and efficiency in percent at N = 8.
PYCYTO_AT_8 = {
    "register_denoise": (6.44, 80),
    "cellpose_ch0": (3.10, 39),
    "cellpose_ch1": (2.81, 35),
    "contact": (2.02, 25),
    "trackmate_ch0": (1.77, 22),
}


def analysed(table):
    return configurations(trials_from_wall_times(table), interleaved=False)


def test_the_published_trackmate_times_decompose_to_three_digits():
    rows = analysed(TRACKMATE)
    # The wall time at N = 2 and the mean of two jobs that tie are published in whole seconds.
    assert rows["load_balance"].round(3).to_list() == [1.0, 1.0, 0.858, 0.786]
    assert rows["computation_scaling"].round(3).to_list() == [1.0, 0.836, 0.467, 0.282]
    assert rows["efficiency"].round(3).to_list() == [1.0, 0.836, 0.401, 0.222]
    product = rows["load_balance"] * rows["computation_scaling"]
    assert product.to_list() == pytest.approx(rows["efficiency"].to_list())
    assert rows["useful_share"].null_count() == 4


def test_the_published_trackmate_loss_at_8_is_work_inflation_not_the_straggler():
    at_8 = loss_table(trials_from_wall_times(TRACKMATE)).filter(pl.col("workers") == 8)
    growth = dict(zip(at_8["part"], at_8["growth_s"], strict=True))
    assert growth == pytest.approx({"idle": 8 * (313 - 246), "busy": 8 * 246 - 555})
    assert sum(growth.values()) == pytest.approx(8 * 313 - 555)
    assert growth["busy"] > 2 * growth["idle"]


def test_the_reference_files_hold_the_published_trackmate_times(references):
    horizontal = pl.read_csv(references / "pycyto_horizontal_scaling.csv")
    tasks = pl.read_csv(references / "pycyto_trackmate_tasks.csv")
    serial = horizontal.filter(pl.col("stage") == "trackmate_ch0", pl.col("workers") == 1)
    rows = analysed(pl.concat([serial, tasks], how="diagonal_relaxed"))
    expected = analysed(TRACKMATE)
    columns = ["workers", "wall_s", "load_balance", "computation_scaling", "efficiency"]
    assert rows.select(columns).equals(expected.select(columns))


@pytest.mark.parametrize("stage", PYCYTO_AT_8)
def test_the_published_speedups_and_efficiencies_are_reproduced(references, stage):
    table = pl.read_csv(references / "pycyto_horizontal_scaling.csv")
    rows = analysed(table).filter(pl.col("stage") == stage)
    at_8 = rows.row(by_predicate=pl.col("workers") == 8, named=True)
    speedup, efficiency_percent = PYCYTO_AT_8[stage]
    assert round(100 * at_8["efficiency"]) == efficiency_percent
    # Wall times are printed in whole seconds: the printed speedup comes from unrounded ones.
    serial_s = rows["wall_s"][0]
    lowest = (serial_s - 0.5) / (at_8["wall_s"] + 0.5)
    highest = (serial_s + 0.5) / (at_8["wall_s"] - 0.5)
    assert lowest - 0.005 <= speedup <= highest + 0.005
    assert at_8["speedup"] == pytest.approx(speedup, abs=0.006)


def test_wall_times_alone_give_no_load_balance_except_with_one_worker():
    table = pl.DataFrame({"stage": "a", "workers": [1, 2], "wall_s": [10.0, 6.0]})
    rows = analysed(table)
    assert rows["load_balance"].to_list() == [1, None]
    assert rows["computation_scaling"].to_list() == [1, None]
    assert rows["speedup"].to_list() == pytest.approx([1, 10 / 6])
    assert rows["karp_flatt"][1] == pytest.approx(0.2)
    assert loss_table(trials_from_wall_times(table)).is_empty()


def test_rows_of_single_tasks_are_gathered_into_trials():
    table = pl.DataFrame(
        {
            "stage": "a",
            "workers": [1, 2, 2],
            "task": ["w0", "w0", "w1"],
            "wall_s": [12.0, 8.0, 6.0],
        }
    )
    row = analysed(table).row(1, named=True)
    assert row["wall_s"] == 8
    assert row["load_balance"] == pytest.approx(14 / 16)
    assert row["computation_scaling"] == pytest.approx(12 / 14)
    assert row["efficiency"] == pytest.approx(12 / 16)


def test_six_repeats_elsewhere_get_intervals_without_pairing():
    repeats = range(6)
    table = pl.DataFrame(
        {
            "stage": "a",
            "workers": [1] * 6 + [2] * 6,
            "repeat": [*repeats, *repeats],
            "wall_s": [10.0 + i for i in repeats] + [5.0 + i / 2 for i in repeats],
        }
    )
    row = analysed(table).row(1, named=True)
    assert (row["repeats"], row["speedup"]) == (6, 2)
    assert (row["wall_s_low"], row["wall_s_high"]) == (5, 7.5)
    # Both arms drift alike, but nobody said that they ran side by side.
    assert row["speedup_low"] < 2 < row["speedup_high"]


def test_doubts_that_need_a_run_are_not_raised_from_a_table():
    assert analysed(TRACKMATE)["flags"].to_list() == [["few-repeats"]] * 4


def test_stages_keep_the_order_of_the_table():
    table = pl.DataFrame(
        {"stage": ["z", "a", "z", "a"], "workers": [2, 1, 1, 2], "wall_s": [1.0, 2, 3, 4]}
    )
    rows = analysed(table)
    assert rows["stage"].to_list() == ["z", "z", "a", "a"]
    assert rows["workers"].to_list() == [1, 2, 1, 2]
