"""Times of nodes whose clocks differ come to lie on one clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pyscale.analysis.clocks import on_one_clock

TRUE_START = datetime(2026, 3, 17, 11, 42, 24, tzinfo=UTC)
TIMES = ("begin_utc", "start_utc", "end_utc")


def tables(*told):
    """Tables of tasks that all began at one moment, by clocks that are ahead.

    Each item is (node, by how much its clock is ahead, the offset found, and its error).
    """
    tasks = pl.DataFrame(
        [
            {
                "trial": "t",
                "task": f"w{place}",
                "node": node,
                **dict.fromkeys(TIMES, TRUE_START + timedelta(seconds=ahead_s)),
                "clock_offset_s": offset_s,
                "clock_error_s": error_s,
            }
            for place, (node, ahead_s, offset_s, error_s) in enumerate(told)
        ],
        schema_overrides={"clock_offset_s": pl.Float64, "clock_error_s": pl.Float64},
    )
    return tasks, tasks.select("trial", "task", "start_utc", phase=pl.lit("compute"))


def starts(*told):
    tasks, spans = on_one_clock(*tables(*told))
    assert tasks["start_utc"].equals(spans["start_utc"])
    return [(start - TRUE_START).total_seconds() for start in tasks["start_utc"]]


def test_a_clock_that_is_ahead_is_put_back_and_one_that_is_behind_put_on():
    assert starts(("a", 3.25, 3.25, 0.001), ("b", -1.5, -1.5, 0.001)) == [0, 0]


def test_every_time_of_a_task_is_corrected_and_the_table_keeps_its_columns():
    before = tables(("a", 3.0, 3.0, 0.001))
    tasks, spans = on_one_clock(*before)
    assert (tasks.schema, spans.schema) == (before[0].schema, before[1].schema)
    assert {tasks[column][0] for column in TIMES} == {TRUE_START}


def test_tasks_of_one_node_are_shifted_alike_by_what_was_measured_best():
    tasks, _ = on_one_clock(*tables(("a", 3.0, 3.2, 0.4), ("a", 3.0, 3.0, 0.001)))
    assert tasks["start_utc"].to_list() == [TRUE_START] * 2
    assert tasks["clock_offset_s"].to_list() == [3.0, 3.0]
    assert tasks["clock_error_s"].to_list() == [0.001, 0.001]


def test_a_launcher_that_got_no_answer_has_its_neighbour_s():
    assert starts(("a", 3.0, None, None), ("a", 3.0, 3.0, 0.001)) == [0, 0]


def test_an_unknown_clock_is_believed():
    assert starts(("a", 3.0, None, None), ("b", 1.0, 1.0, 0.001)) == [3.0, 0]


def test_a_correction_is_exact_to_the_microsecond():
    (start,) = starts(("a", 0.123456, 0.123456, 0.001))
    assert start == pytest.approx(0, abs=1e-9)
