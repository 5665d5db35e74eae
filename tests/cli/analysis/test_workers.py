"""One row per worker, whatever its windows were."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pyscale.analysis.workers import TASK_PHASES, lanes_of, with_lanes, worker_table

PHASES = [f"phase_{phase}_s" for phase in TASK_PHASES]


def test_a_worker_has_the_sum_of_its_windows(new_run):
    builder = new_run().trial(
        "segment",
        [
            {"import": 1.0, "compute": 5.0, "unattributed": 0.5},
            {"import": 2.0, "compute": 7.0},
            {"import": 3.0, "compute": 4.0},
        ],
        lanes=(0, 1, 0),
        merge={"merge": 2.0},
        check="done",
        cpu_wait_s=0.25,
    )
    first, second = builder.workers.to_dicts()
    assert (first["lane"], first["workers"], first["wall_s"]) == (0, 2, pytest.approx(13.5))
    assert (first["phase_import_s"], first["phase_compute_s"]) == (4, 9)
    assert first["unattributed_s"] == pytest.approx(0.5)
    assert (first["cpu_s"], first["cpu_wait_s"]) == (2, 0.5)
    assert (second["lane"], second["wall_s"]) == (1, 9)
    # The merge is no worker's.
    assert first["phase_merge_s"] == second["phase_merge_s"] == 0


def test_a_wait_that_one_window_does_not_know_is_not_known_of_its_worker(new_run):
    builder = new_run().trial("segment", [{"compute": 5.0}] * 3, lanes=(0, 1, 0), cpu_wait_s=1.0)
    of_w2 = pl.when(pl.col("task") != "w2").then("cpu_wait_s").alias("cpu_wait_s")
    workers = worker_table(builder.tasks.with_columns(of_w2), builder.spans)
    assert workers["cpu_wait_s"].to_list() == [None, 1]
    assert workers["cpu_s"].to_list() == [2, 1]


def test_a_window_without_times_has_no_worker_and_of_others_the_last_attempt_counts(new_run):
    builder = new_run().trial("segment", [{"compute": 5.0}, {"unattributed": 4.0}])
    # One without spans is unattributed.
    unknown = pl.when(pl.col("task") == "w1").then("lane").alias("lane")
    (worker,) = worker_table(builder.tasks.with_columns(unknown), builder.spans).to_dicts()
    assert worker["unattributed_s"] == worker["wall_s"] == 4
    assert all(worker[phase] == 0 for phase in PHASES)
    again = builder.tasks.with_columns(attempt=pl.col("attempt") + 1, wall_s=pl.col("wall_s") + 1)
    workers = worker_table(pl.concat([builder.tasks, again]), builder.spans)
    assert workers["wall_s"].to_list() == [6, 5]


BEGIN = datetime(2026, 3, 17, 11, 42, 24, tzinfo=UTC)


def at(*seconds):
    """Intervals from pairs of seconds."""
    return [(BEGIN + timedelta(seconds=a), BEGIN + timedelta(seconds=b)) for a, b in seconds]


@pytest.mark.parametrize(
    ("windows", "workers", "lanes"),
    [
        # w1 ends first, so w2 is its worker's; then w0's is free since 10 s, w2's since 12 s.
        (at((0, 10), (0, 4), (5, 12), (13, 14)), 2, [1, 0, 0, 1]),
        (at((3, 5), (0, 2), (7, 9)), 1, [0, 0, 0]),
        # Of as many windows as workers each has its own, whatever their times.
        (at((0, 1), (5, 6), (9, 10)), 3, [0, 1, 2]),
        # Three at once cannot be two workers': the third goes to whoever is free first.
        (at((0, 9), (1, 6), (2, 8)), 2, [0, 1, 1]),
    ],
)
def test_a_window_belongs_to_the_worker_that_was_free_longest(windows, workers, lanes):
    assert lanes_of(windows, workers) == lanes


def table(lanes, intervals, workers=2):
    runs = len(intervals)
    starts, ends = ([pair[end] for pair in intervals] for end in (0, 1))
    return pl.DataFrame(
        {
            "trial": ["t"] * (runs + 1),
            "verb": ["run"] * runs + ["merge"],
            "workers": workers,
            "lane": pl.Series([*lanes, None], dtype=pl.Int64),
            "start_utc": [*starts, BEGIN],
            "end_utc": [*ends, BEGIN],
        }
    )


@pytest.mark.parametrize(
    ("dealt", "windows", "lanes"),
    [
        # Those that pyscale dealt out stay, those that a scheduler chose follow from the times.
        ([1, 1, 0], at((0, 1), (2, 3), (0, 3)), [1, 1, 0, None]),
        ([None, None, None], at((0, 1), (2, 3), (0, 3)), [0, 0, 1, None]),
        ([None, None], [*at((0, 1)), (None, None)], [0, None, None]),
        ([], [], [None]),
    ],
)
def test_every_window_with_times_has_a_lane_and_a_merge_has_none(dealt, windows, lanes):
    assert with_lanes(table(dealt, windows))["lane"].to_list() == lanes


def test_a_merge_that_ran_in_a_worker_s_place_is_no_window_of_it():
    everywhere = table([0, 1], at((0, 1), (0, 3))).with_columns(pl.col("lane").fill_null(0))
    assert with_lanes(everywhere)["lane"].to_list() == [0, 1, None]
