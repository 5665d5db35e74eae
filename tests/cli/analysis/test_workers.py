"""One row per worker, whatever its windows were."""

import polars as pl
import pytest

from pyscale.analysis.workers import TASK_PHASES, worker_table

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
