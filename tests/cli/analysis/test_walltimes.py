from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pyscale.analysis.losses import loss_table
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import is_interleaved, trials_from_wall_times

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


@pytest.fixture
def trackmate(references):
    """TrackMate in pyCyto's published benchmark: its whole jobs, and their mean where known."""
    horizontal = pl.read_csv(references / "pycyto_horizontal_scaling.csv")
    tasks = pl.read_csv(references / "pycyto_trackmate_tasks.csv")
    serial = horizontal.filter(pl.col("stage") == "trackmate_ch0", pl.col("workers") == 1)
    return pl.concat([serial, tasks], how="diagonal_relaxed")


def test_the_published_trackmate_times_decompose_to_three_digits(trackmate):
    rows = analysed(trackmate)
    # The wall time at N = 2 and the mean of two jobs that tie are published in whole seconds.
    assert rows["wall_s"].to_list() == [555, 332, 346, 313]
    assert rows["load_balance"].round(3).to_list() == [1.0, 1.0, 0.858, 0.786]
    assert rows["computation_scaling"].round(3).to_list() == [1.0, 0.836, 0.467, 0.282]
    assert rows["efficiency"].round(3).to_list() == [1.0, 0.836, 0.401, 0.222]
    # The published jobs: 246 s, and 100 s about it, at N = 8.
    assert rows["mean_task_s"].to_list() == [555, 332, 297, 246]
    assert rows["sd_task_s"].to_list() == [None, 0, 33, 100]
    product = rows["load_balance"] * rows["computation_scaling"]
    assert product.to_list() == pytest.approx(rows["efficiency"].to_list())
    assert rows["useful_share"].null_count() == 4
    # Doubts that need a run are not raised from a table.
    assert rows["flags"].to_list() == [["few-repeats"]] * 4
    # The loss at N = 8 is work inflation and not the straggler.
    at_8 = loss_table(trials_from_wall_times(trackmate)).filter(pl.col("workers") == 8)
    growth = dict(zip(at_8["part"], at_8["growth_s"], strict=True))
    assert growth == pytest.approx({"idle": 8 * (313 - 246), "busy": 8 * 246 - 555})


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


@pytest.mark.parametrize("numbered", ["repeat", "block"])
def test_six_repeats_elsewhere_get_intervals_and_blocks_pair_them(numbered):
    repeats = range(6)
    table = pl.DataFrame(
        {
            "stage": "a",
            "workers": [1] * 6 + [2] * 6,
            numbered: [*repeats, *repeats],
            "wall_s": [10.0 + i for i in repeats] + [5.0 + i / 2 for i in repeats],
        }
    )
    assert is_interleaved(table) is (numbered == "block")
    trials = trials_from_wall_times(table)
    assert trials["block"].to_list() == [*repeats, *repeats]
    row = configurations(trials, interleaved=is_interleaved(table)).row(1, named=True)
    assert (row["repeats"], row["speedup"]) == (6, 2)
    assert (row["wall_s_low"], row["wall_s_high"]) == (5, 7.5)
    ends = (row["speedup_low"], row["speedup_high"])
    if numbered == "block":
        # What both arms of a block share cancels.
        assert ends == pytest.approx((2, 2))
    else:
        # Both arms drift alike, but nobody said that they ran side by side.
        assert ends[0] < 2 < ends[1]


def test_where_tasks_had_unlike_numbers_of_cores_nobody_knows_what_one_worker_had():
    """The largest of them for all would be a cost that nobody paid."""
    table = pl.DataFrame(
        {"stage": "a", "workers": 2, "task": ["w0", "w1"], "wall_s": [8.0, 6.0], "cpus": [2, 4]}
    )
    assert trials_from_wall_times(table)["requested_cpus"].to_list() == [None]


NINE = datetime(2026, 3, 17, 9, tzinfo=UTC)


def at(*seconds):
    return [NINE + timedelta(seconds=second) for second in seconds]


def task_rows(**columns):
    """Tasks of 10 and of 8 s, the second one 4 s late, after one of 16 s by one worker."""
    told = {
        "stage": ["a"] * 3,
        "workers": [1, 2, 2],
        "task": ["w0", "w0", "w1"],
        "wall_s": [16.0, 10.0, 8.0],
        "start": at(0, 60, 64),
        "end": at(16, 70, 72),
    } | columns
    return trials_from_wall_times(pl.DataFrame(told))


def trial_rows(**columns):
    """One trial by one worker and one by four, whose workers are not told apart."""
    told = {"stage": ["a", "a"], "workers": [1, 4], "wall_s": [40.0, 15.0]} | columns
    return trials_from_wall_times(pl.DataFrame(told))


def test_a_table_of_wall_times_has_the_columns_and_kinds_of_a_run(new_run):
    builder = new_run().trial("a", [{"compute": 1.0}], agreement=1.0)
    of_a_run = builder.trials.schema
    assert dict(task_rows().schema) == dict(of_a_run)


GIB = 1 << 30


@pytest.mark.parametrize(
    ("of", "columns", "expected"),
    [
        # Work of tasks adds up; that of one task alone is not that of the trial.
        (task_rows, {"work": [80.0, 40.0, 40.0]}, {"work": [80, 80]}),
        (task_rows, {"work": [80.0, 40.0, None]}, {"work": [80, None]}),
        # The work of a whole trial is its own.
        (trial_rows, {"work": [10.0, 40.0]}, {"work": [10, 40]}),
        # A task tells what one worker had and used.
        (
            task_rows,
            {"cpus": [4] * 3, "gpus": [1] * 3, "cpu_s": [32.0, 18.0, 18.0]}
            | {
                "requested_memory_bytes": [8 * GIB] * 3,
                "peak_memory_bytes": [5 * GIB, 3 * GIB, 4 * GIB],
            },
            {"requested_cpus": [4, 4], "requested_gpus": [1, 1], "cores_used": [2, 2]}
            | {"requested_memory_bytes": [8 * GIB] * 2, "peak_rss_bytes": [5 * GIB, 4 * GIB]},
        ),
        # Workers of one job share its cores evenly, and its memory and two GPUs are nobody's.
        (
            trial_rows,
            {"cpus": [2, 8], "gpus": [1, 2], "cpu_s": [60.0, 90.0]}
            | {"peak_memory_bytes": [GIB, 4 * GIB]},
            {"requested_cpus": [2, 2], "requested_gpus": [1, None], "cores_used": [1.5, 1.5]}
            | {"peak_rss_bytes": [GIB, None]},
        ),
        # Dates tell stagger, overlap (both ran from 64 to 70 s) and the order of the trials.
        (
            *(task_rows, {}),
            {"start_stagger_s": [0, 4], "overlap": [1, 0.6], "position": [0, 1]},
        ),
        (
            *(task_rows, {"start": at(90, 60, 64), "end": at(106, 70, 72)}),
            {"position": [1, 0]},
        ),
        # Without every start the order of trials is not known.
        (task_rows, {"start": [None, *at(60, 64)]}, {"position": [None, None]}),
        (trial_rows, {}, {"position": [None, None], "longest_task_s": [40, 15]}),
        # Nothing tells when a worker with several tasks was between them.
        (
            *(task_rows, {"tasks_done": [1, 2, 1]}),
            {"overlap": [1, None], "longest_task_s": [16, None], "start_stagger_s": [0, 4]},
        ),
        # The longest task of a mean over more tasks than workers is not known.
        (
            *(trial_rows, {"tasks": [1, 8], "mean_task_s": [40.0, 6.0]}),
            {"longest_task_s": [40, None]},
        ),
    ],
)
def test_a_trial_is_told_as_far_as_its_rows_tell_it(of, columns, expected):
    trials = of(**columns)
    assert {name: trials[name].to_list() for name in expected} == expected


def test_workers_one_after_the_other_are_doubted_in_a_table_too():
    one_by_one = task_rows(start=at(0, 60, 70), end=at(16, 70, 78))
    assert one_by_one["overlap"].to_list() == [1, 0]
    flags = configurations(one_by_one, interleaved=False)["flags"].to_list()
    assert [("workers-did-not-overlap" in codes) for codes in flags] == [False, True]


@pytest.mark.parametrize(
    ("node", "nodes"),
    [
        (["n1"] * 3, 1),
        (["n1", "n1", "n2"], 2),
        (["n1", "n1,n3", "n2"], 3),
        (["n1", "n[1-2]", "n3"], None),
    ],
)
def test_nodes_are_counted_where_they_are_named_one_by_one(node, nodes):
    trials = task_rows(node=node)
    assert trials["nodes"].to_list()[1] == nodes
    # Dates are those of a scheduler, on one clock.
    assert "clocks-disagree" not in configurations(trials, interleaved=False)["flags"].to_list()[1]
