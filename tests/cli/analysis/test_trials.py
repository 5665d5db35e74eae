from __future__ import annotations

import polars as pl
import pytest

from pyscale.analysis.trials import TASK_PHASES, TIMING_COLUMNS, trial_table


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


def row_of(builder) -> dict:
    table = trial_table(builder.tasks, builder.spans)
    assert table.height == 1
    return table.row(0, named=True)


def test_wall_time_is_the_slowest_worker_and_then_the_merge(one_trial):
    row = row_of(one_trial)
    assert row["slowest_s"] == pytest.approx(10)
    assert row["shortest_s"] == pytest.approx(6)
    assert row["merge_s"] == pytest.approx(2)
    assert row["wall_s"] == pytest.approx(12)


def test_merge_is_booked_on_one_worker_while_the_others_idle(one_trial):
    row = row_of(one_trial)
    assert row["busy_s"] == pytest.approx(18)
    assert row["mean_busy_s"] == pytest.approx(9)
    assert row["idle_s"] == pytest.approx(2 * 12 - 18)


def test_phases_are_summed_over_workers_and_merge_and_the_rest_is_unattributed(one_trial):
    row = row_of(one_trial)
    assert row["useful_s"] == row["phase_compute_s"] == pytest.approx(10.5)
    assert row["phase_python_start_s"] == pytest.approx(2.5)
    assert row["phase_read_s"] == pytest.approx(3)
    assert row["phase_merge_s"] == pytest.approx(1.5)
    assert row["phase_model_load_s"] == 0
    assert row["unattributed_s"] == pytest.approx(0.5)
    assert sum(row[f"phase_{phase}_s"] for phase in TASK_PHASES) + row[
        "unattributed_s"
    ] == pytest.approx(row["busy_s"])


def test_stagger_and_overlap_say_when_the_workers_ran(one_trial):
    row = row_of(one_trial)
    assert row["start_stagger_s"] == pytest.approx(3)
    # Together from 3 s, when the second starts, to 9 s, when it ends.
    assert row["overlap"] == pytest.approx(0.6)
    assert row["queue_s"] == pytest.approx(0.5)


def test_workers_one_after_the_other_have_no_overlap(new_run):
    late = new_run().trial("track", [{"compute": 2.0}, {"compute": 2.0}], start_s=[0.0, 5.0])
    assert row_of(late)["overlap"] == 0


def test_one_worker_has_no_merge_and_always_runs_with_itself(new_run):
    row = row_of(new_run().trial("track", [{"compute": 4.0, "write": 1.0}]))
    assert (row["merge_s"], row["wall_s"], row["idle_s"]) == (0, 5, 0)
    assert (row["overlap"], row["start_stagger_s"]) == (1, 0)
    assert row["valid"]


def test_check_is_carried_along_but_not_timed(one_trial):
    row = row_of(one_trial)
    assert (row["agreement"], row["agreement_same"]) == (0.98, True)
    assert row["quality"] == '{"ap_50": 0.9}'
    assert row["check_failed"] is False
    assert row["hardware"] == ["xeon"]


def test_queue_spans_lie_before_the_task_and_are_not_part_of_it(new_run):
    builder = new_run().trial("track", [{"compute": 4.0}])
    queued = builder.spans.with_columns(phase=pl.lit("queue"), wall_s=pl.lit(99.0))
    table = trial_table(builder.tasks, pl.concat([builder.spans, queued]))
    assert table["unattributed_s"].to_list() == [0]
    assert table["wall_s"].to_list() == [4]


@pytest.mark.parametrize("broken", ["w1", "merge"])
def test_a_failed_task_leaves_the_trial_without_times(new_run, broken):
    row = row_of(new_run().trial("track", [{"compute": 1.0}] * 2, failed=[broken]))
    assert row["failed"]
    assert not row["valid"]
    assert {row[column] for column in TIMING_COLUMNS} == {None}


@pytest.mark.parametrize("lost", ["w0", "merge"])
def test_a_task_without_a_record_leaves_the_trial_without_times(new_run, lost):
    builder = new_run().trial("track", [{"compute": 1.0}] * 2)
    tasks = builder.tasks.filter(pl.col("task") != lost)
    row = trial_table(tasks, builder.spans).row(0, named=True)
    assert not row["failed"]
    assert not row["complete"]
    assert not row["valid"]
    assert row["wall_s"] is None


def test_a_failed_check_does_not_take_the_timing_away(new_run):
    row = row_of(new_run().trial("track", [{"compute": 1.0}], check="failed"))
    assert row["valid"]
    assert row["check_failed"]


def test_a_retried_trial_is_complete_but_not_timed(new_run):
    row = row_of(new_run().trial("track", [{"compute": 1.0}], attempt=2))
    assert row["complete"]
    assert not row["valid"]


def test_of_several_records_of_one_task_the_last_attempt_counts(new_run):
    builder = new_run().trial("track", [{"compute": 1.0}], attempt=2)
    first = builder.tasks.with_columns(attempt=pl.lit(1, pl.Int64), status=pl.lit("failed"))
    row = trial_table(pl.concat([first, builder.tasks]), builder.spans).row(0, named=True)
    assert row["wall_s"] == 1
    assert (row["failed"], row["attempt"], row["valid"]) == (False, 2, False)


def test_order_of_rows_and_names_of_workers_change_nothing(one_trial):
    swapped = {"w0": "w1", "w1": "w0"}
    tasks = one_trial.tasks.with_columns(pl.col("task").replace(swapped)).reverse()
    spans = one_trial.spans.with_columns(pl.col("task").replace(swapped)).reverse()
    changed = trial_table(tasks, spans).row(0, named=True)
    original = row_of(one_trial)
    assert changed.keys() == original.keys()
    for column in TIMING_COLUMNS:
        assert changed[column] == pytest.approx(original[column]), column
