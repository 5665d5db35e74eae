from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pyscale.analysis.timeline import FINEST, timeline_of, timeline_table
from pyscale.analysis.trials import TIMING_COLUMNS, trial_table
from pyscale.analysis.workers import TASK_PHASES, lanes_of, with_lanes, worker_table


@pytest.fixture
def one_trial(new_run):
    """Two workers of 10 and 6 s, the second one 3 s late, and a merge of 2 s."""
    return new_run().trial(
        "segment",
        [
            {"python_start": 1.0, "read": 2.0, "compute": 6.5, "unattributed": 0.5},
            {"python_start": 1.0, "read": 1.0, "compute": 4.0},
        ],
        start_s=[0.0, 3.0],
        merge={"python_start": 0.5, "merge": 1.5},
        agreement=0.98,
        same=True,
        quality={"ap_50": 0.9},
    )


def row_of(builder):
    table = builder.trials
    assert table.height == 1
    return table.row(0, named=True)


def test_a_trial_has_the_times_of_its_workers_and_the_merge(one_trial):
    row = row_of(one_trial)
    expected = {
        # The slowest worker and then the merge, booked on one worker while the other idles.
        "slowest_s merge_s wall_s shortest_s busy_s idle_s": (10, 2, 12, 6, 18, 2 * 12 - 18),
        # Of the two tasks, 10 and 6 s, without the merge.
        "mean_task_s sd_task_s": (8, 8**0.5),
        # Phases are summed over workers and the merge.
        "useful_s phase_compute_s phase_python_start_s phase_read_s": (10.5, 10.5, 2.5, 3),
        "phase_merge_s phase_model_load_s unattributed_s": (1.5, 0, 0.5),
        # Together from 3 s, when the second starts, to 9 s, when it ends.
        "start_stagger_s overlap queue_s": (3, 0.6, 0.5),
        # Two windows of 40 frames, each from a file of 1 MiB; the merge reads these again.
        "work input_bytes input_files": (80, 2 << 20, 2),
        # The check is carried along and not timed.
        "agreement agreement_same check_failed": (0.98, True, False),
    }
    for names, values in expected.items():
        assert [row[name] for name in names.split()] == pytest.approx(values), names
    parts = [*(f"phase_{phase}_s" for phase in TASK_PHASES), "unattributed_s"]
    assert sum(row[part] for part in parts) == pytest.approx(row["busy_s"])
    assert (row["quality"], row["hardware"]) == ('{"ap_50": 0.9}', ["xeon"])


def test_a_process_keeps_all_its_threads_busy_and_idles_in_none(new_run):
    run = new_run().trial("segment", [{"import": 1.0, "compute": 5.0}])
    tasks = run.tasks.with_columns(workers=pl.lit(4, pl.Int64))
    (row,) = trial_table(tasks, run.spans).rows(named=True)
    assert (row["wall_s"], row["busy_s"], row["idle_s"]) == pytest.approx((6, 24, 0))
    assert (row["phase_compute_s"], row["overlap"]) == pytest.approx((20, 1))


def test_one_worker_has_no_merge_and_always_runs_with_itself(new_run):
    row = row_of(new_run().trial("track", [{"compute": 4.0, "write": 1.0}]))
    assert (row["merge_s"], row["wall_s"], row["idle_s"], row["valid"]) == (0, 5, 0, True)
    assert (row["overlap"], row["start_stagger_s"]) == (1, 0)
    late = new_run().trial("track", [{"compute": 2.0}] * 2, start_s=[0.0, 5.0])
    assert row_of(late)["overlap"] == 0


def test_queue_spans_lie_before_the_task_and_are_not_part_of_it(new_run):
    builder = new_run().trial("track", [{"compute": 4.0}])
    queued = builder.spans.with_columns(phase=pl.lit("queue"), wall_s=pl.lit(99.0))
    table = trial_table(builder.tasks, pl.concat([builder.spans, queued]))
    assert table["unattributed_s"].to_list() == [0]
    assert table["wall_s"].to_list() == [4]


@pytest.mark.parametrize("broken", ["w1", "merge"])
def test_a_task_that_failed_or_left_no_record_leaves_the_trial_without_times(new_run, broken):
    row = row_of(new_run().trial("track", [{"compute": 1.0}] * 2, failed=[broken]))
    assert (row["failed"], row["valid"]) == (True, False)
    assert {row[column] for column in TIMING_COLUMNS} == {None}
    builder = new_run().trial("track", [{"compute": 1.0}] * 2)
    (row,) = trial_table(builder.tasks.filter(pl.col("task") != broken), builder.spans).to_dicts()
    assert (row["failed"], row["complete"], row["valid"]) == (False, False, False)
    assert row["wall_s"] is None


def test_of_several_records_of_one_task_the_last_attempt_counts(new_run):
    builder = new_run().trial("track", [{"compute": 1.0}], attempt=2)
    first = builder.tasks.with_columns(attempt=pl.lit(1, pl.Int64), status=pl.lit("failed"))
    row = trial_table(pl.concat([first, builder.tasks]), builder.spans).row(0, named=True)
    assert row["wall_s"] == 1
    assert (row["failed"], row["attempt"], row["valid"]) == (False, 2, False)


@pytest.fixture
def lanes(new_run):
    """Two workers: one did windows of 3 and 4 s with 1 s between, the other 2, 2 and 2 s."""
    return new_run().trial(
        "segment",
        [{"compute": wall_s} for wall_s in (3.0, 2.0, 2.0, 4.0, 2.0)],
        lanes=[0, 1, 1, 0, 1],
        start_s=[0.0, 0.5, 2.5, 4.0, 5.0],
        merge={"merge": 1.0},
    )


def test_a_worker_s_time_is_the_sum_of_its_windows_without_what_passes_between(lanes):
    row = row_of(lanes)
    assert (row["workers"], row["windows"], row["valid"]) == (2, 5, True)
    assert (row["slowest_s"], row["shortest_s"], row["wall_s"]) == (7, 6, 8)
    assert (row["busy_s"], row["idle_s"]) == (14, 2)
    # From 3 to 4 s the first worker waits, from 4.5 to 5 s the second.
    assert row["gap_s"] == pytest.approx(1.5)
    # Each has a window at work from 0.5 to 3, from 4 to 4.5 and from 5 to 7 s.
    assert (row["overlap"], row["start_stagger_s"]) == pytest.approx((5 / 7, 0.5))


def test_only_the_first_window_of_a_worker_waits_for_the_cluster(lanes):
    waited = pl.Series([0.5, 2.0, 4.0, 9.0, 9.0, 0.1])  # as by start: w0, w1, w2, w3, w4, merge
    tasks = lanes.tasks.sort("start_utc").with_columns(queue_s=waited)
    row = trial_table(tasks, lanes.spans).row(0, named=True)
    assert (row["queue_s"], row["queue_worst_s"]) == (1.25, 2.0)


def test_a_worker_with_several_windows_has_a_merge_too_and_is_complete_with_all(new_run, lanes):
    row = row_of(new_run().trial("track", [{"compute": 2.0}] * 3, lanes=[0, 0, 0]))
    assert (row["workers"], row["windows"], row["complete"]) == (1, 3, True)
    assert (row["wall_s"], row["overlap"]) == (6, 1)
    lost = lanes.tasks.filter(pl.col("task") != "w4")
    assert trial_table(lost, lanes.spans)["complete"].to_list() == [False]


@pytest.mark.parametrize(
    ("where", "nodes"), [({}, 1), ({"nodes": ["a", "b"]}, 2), ({"nodes": [None]}, None)]
)
def test_nodes_are_counted(new_run, where, nodes):
    assert row_of(new_run().trial("track", [{"compute": 1.0}] * 3, **where))["nodes"] == nodes


@pytest.mark.parametrize(
    ("early_s", "late_s", "disagree"),
    [(0.0, 0.0, False), (0.9, 0.9, False), (1.1, 0.0, True), (0.0, 1.1, True)],
)
def test_an_order_of_times_that_cannot_have_been_is_told(new_run, early_s, late_s, disagree):
    builder = new_run().trial("track", [{"compute": 9.0}] * 2, merge={"merge": 1.0})
    is_merge, start = pl.col("verb") == "merge", pl.col("start_utc")
    # Windows begin before their order, and a merge is ordered before these have ended.
    tasks = builder.tasks.with_columns(
        begin_utc=start,
        submit_utc=pl.when(is_merge)
        .then(start - pl.duration(milliseconds=round(1000 * late_s)))
        .otherwise(start + pl.duration(milliseconds=round(1000 * early_s))),
    )
    (found,) = trial_table(tasks, builder.spans)["clocks_disagree"]
    assert found is disagree


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (["verified-cold", "verified-cold"], "verified-cold"),
        (["verified-cold", "evicted-unverified"], "evicted-unverified"),
        (["warm", "verified-cold"], "warm"),
        ([None, "verified-cold"], "unsupported"),
        ([None, None], None),
    ],
)
def test_a_trial_is_as_cold_as_the_node_of_which_least_was_proved(new_run, states, state):
    builder = new_run().trial("track", [{"compute": 1.0}] * 2)
    cache_state = pl.Series([*states, None], dtype=pl.String)
    tasks = builder.tasks.with_columns(cache_state=cache_state)
    assert trial_table(tasks, builder.spans)["cache_state"].to_list() == [state]


@pytest.mark.parametrize(
    ("of_task", "column"),
    [
        ("frames", "work"),
        ("input_bytes", "input_bytes"),
        ("input_files", "input_files"),
        ("prepare_s", "prepare_s"),
        ("prepare_s", "longest_task_s"),
        ("gpu_mean_utilisation", "gpu_mean_utilisation"),
    ],
)
def test_what_is_not_known_of_every_window_is_not_known_of_the_trial(one_trial, of_task, column):
    tasks = one_trial.tasks.with_columns(gpu_mean_utilisation=pl.lit(0.5))
    assert trial_table(tasks, one_trial.spans)[column].null_count() == 0
    one_unknown = pl.when(pl.col("task") != "w1").then(of_task).alias(of_task)
    found = trial_table(tasks.with_columns(one_unknown), one_trial.spans)
    assert found[column].to_list() == [None]


def test_the_longest_task_is_taken_with_its_preparation_and_a_gpu_that_idles_for_long_counts(
    one_trial,
):
    row = row_of(one_trial)
    assert (row["prepare_s"], row["longest_task_s"]) == pytest.approx((2 * 0.25, 10.25))
    busy = pl.col("task").replace_strict({"w0": 0.1, "w1": 0.9}, default=None)
    slow_merge = one_trial.tasks.with_columns(
        prepare_s=pl.when(pl.col("task") == "merge").then(30.0).otherwise(0.25),
        gpu_mean_utilisation=busy,
    )
    row = trial_table(slow_merge, one_trial.spans).row(0, named=True)
    assert (row["prepare_s"], row["longest_task_s"]) == pytest.approx((0.5, 32))
    assert row["gpu_mean_utilisation"] == pytest.approx((0.1 * 10 + 0.9 * 6) / 16)


def pieces(table, **where):
    own = table.filter(*(pl.col(name) == value for name, value in where.items()))
    return [(row["part"], row["start_s"], row["wall_s"]) for row in own.iter_rows(named=True)]


def test_time_starts_with_the_first_task_and_a_late_worker_leaves_its_lane_empty(new_run):
    run = new_run().trial("track", [{"compute": 5.0}, {"compute": 5.0}], start_s=[3.0, 4.5])
    table = timeline_table(run.tasks, run.spans)
    assert pieces(table, lane=1) == [("compute", 1.5, 5.0)]
    assert pieces(table, lane=0) == [("compute", 0.0, 5.0), ("idle", 5.0, 1.5)]
    # Windows of one worker stand on its lane.
    run = new_run().trial("track", [{"compute": 2.0}] * 3, lanes=[0, 1, 0])
    table = timeline_table(run.tasks, run.spans)
    assert table.filter(lane=0, verb="run")["task"].to_list() == ["w0", "w2"]


def test_many_short_pieces_are_gathered_and_keep_their_sums(new_run):
    run = new_run().trial("segment", [{"compute": 20.0}])
    frame = pl.DataFrame(
        [("read", 0.001), ("compute", 0.009)] * 2_000, schema=["phase", "wall_s"], orient="row"
    )
    begun = frame["wall_s"].cum_sum() - frame["wall_s"]
    spans = frame.join(run.spans.drop("phase", "wall_s"), how="cross").with_columns(
        start_utc=pl.col("start_utc") + pl.duration(microseconds=(begun * 1e6).round())
    )
    table = timeline_table(run.tasks, spans)
    sums = dict(table.group_by("part").agg(pl.col("wall_s").sum()).iter_rows())
    assert table.height <= 2 / FINEST + 2 < frame.height
    assert (sums["read"], sums["compute"]) == pytest.approx((2, 18))
    steps = table["start_s"].diff().drop_nulls().to_list()
    assert steps == pytest.approx(table["wall_s"].to_list()[:-1])


def test_a_task_without_spans_is_unattributed_and_of_one_started_again_the_last_is_shown(new_run):
    uneven = new_run().trial("segment", [{"compute": 4.0}, {"import": 1.0, "compute": 8.0}])
    table = timeline_table(uneven.tasks, uneven.spans.clear())
    assert pieces(table, task="w0", verb="run") == [("unattributed", 0.0, 4.0)]
    first = uneven.tasks.with_columns(attempt=0, wall_s=3 * pl.col("wall_s"))
    both = pl.concat([first, uneven.tasks.with_columns(attempt=1)], how="vertical_relaxed")
    assert timeline_table(both, uneven.spans).equals(timeline_table(uneven.tasks, uneven.spans))


def test_checks_and_tasks_without_times_are_left_out(new_run):
    run = new_run().trial("track", [{"compute": 1.0}], agreement=1.0)
    run.trial("track", [{"compute": 1.0}], block=1)
    second = pl.col("block") == 1
    lost = run.tasks.with_columns(
        pl.when(~second).then(column).alias(column) for column in ("start_utc", "wall_s")
    )
    table = timeline_table(lost, run.spans)
    assert table["block"].unique().to_list() == [0]
    assert "check" not in table["task"]


def test_workers_wait_for_the_one_that_ended_last_though_another_began_later(new_run):
    run = new_run().trial("track", [{"compute": 9.0}, {"compute": 2.0}], start_s=[0.0, 1.0])
    idle = timeline_table(run.tasks, run.spans).filter(pl.col("part") == "idle")
    assert idle.select("lane", "task").rows() == [(1, "w0")]


def test_a_phase_within_another_leaves_no_gap_behind_it(new_run):
    run = new_run().trial("segment", [{"compute": 10.0, "write": 1.0}])
    within = run.spans.filter(phase="compute").with_columns(
        start_utc=pl.col("start_utc") + pl.duration(seconds=1), wall_s=pl.lit(1.0)
    )
    table = timeline_table(run.tasks, pl.concat([run.spans, within]))
    assert "unattributed" not in table["part"]


def test_the_middle_trial_of_those_that_were_timed_is_kept(new_run):
    run = new_run().curve("track", lambda _, block: (9.0, 5.0, 6.0)[block], (1,), 3)
    assert timeline_of(run.tasks, run.spans, run.trials)["block"].unique().to_list() == [2]
    untimed = run.trials.with_columns(valid=pl.col("block") != 2)
    assert timeline_of(run.tasks, run.spans, untimed)["block"].unique().to_list() == [1]


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
