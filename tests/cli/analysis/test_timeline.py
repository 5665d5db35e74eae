import polars as pl
import pytest

from pyscale.analysis.timeline import FINEST, timeline_of, timeline_table


@pytest.fixture
def uneven(new_run):
    """Worker 0 takes 4 s, worker 1 takes 10 s, and the merge 2 s."""
    return new_run().trial(
        "segment",
        [{"import": 1.0, "compute": 3.0}, {"import": 1.0, "compute": 8.0, "unattributed": 1.0}],
        nodes=("node1", "node2"),
        merge={"import": 0.5, "merge": 1.5},
    )


def pieces(table, **where):
    own = table.filter(*(pl.col(name) == value for name, value in where.items()))
    return [(row["part"], row["start_s"], row["wall_s"]) for row in own.iter_rows(named=True)]


def test_a_worker_does_its_phases_and_waits_for_the_slowest_and_then_for_the_merge(uneven):
    table = timeline_table(uneven.tasks, uneven.spans)
    assert pieces(table, task="w1", verb="run") == [
        ("import", 0.0, 1.0),
        ("compute", 1.0, 8.0),
        ("unattributed", 9.0, 1.0),
    ]
    idle = table.filter(pl.col("part") == "idle")
    assert idle["task"].to_list() == ["w1", "merge"]
    assert pieces(idle, lane=0) == [("idle", 4.0, 6.0), ("idle", 10.0, 2.0)]
    assert idle["node"].unique().to_list() == ["node1"]
    # The merge stands on the worker that ended last.
    merge = table.filter(pl.col("verb") == "merge")
    assert merge["lane"].unique().to_list() == [1]
    assert pieces(merge) == [("import", 10.0, 0.5), ("merge", 10.5, 1.5)]
    (trial,) = uneven.trials.iter_rows(named=True)
    assert table["wall_s"].sum() == pytest.approx(trial["workers"] * trial["wall_s"])


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


def test_a_task_without_spans_is_unattributed_and_of_one_started_again_the_last_is_shown(uneven):
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
