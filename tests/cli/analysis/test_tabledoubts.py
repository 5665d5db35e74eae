"""Times of tables: rounded to a step, and timed one N after the other."""

from datetime import UTC, datetime

import polars as pl
import pytest

from pyscale.analysis.advice import Aim, choices
from pyscale.analysis.doubts import in_a_row, rounded_to
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times


@pytest.mark.parametrize(
    ("times_s", "step_s"),
    [
        ([12.0, 13.0], 1.0),
        ([12.0, 13.5], 0.1),
        ([12.25, 13.0], 0.01),
        ([0.123, 13.0], 0.001),
        ([12.34567, 13.0], None),
    ],
)
def test_the_step_is_the_largest_that_all_times_are_multiples_of(times_s, step_s):
    assert rounded_to(times_s) == step_s


def of_table(rows, **columns):
    table = pl.DataFrame(rows, schema=["stage", "workers", "wall_s", "repeat"], orient="row")
    return trials_from_wall_times(table.with_columns(**columns))


def flags_of(*walls_s, **columns):
    rows = [("a", n, s, i) for n, own in zip((1, 2), walls_s, strict=True) for i, s in own]
    found = configurations(of_table(rows, **columns), interleaved=False)
    return [set(flags) for flags in found["flags"]]


def numbered(walls_s):
    return list(enumerate(walls_s))


def test_whole_seconds_widen_the_intervals_of_short_times_and_raise_a_doubt():
    coarse = flags_of(numbered([20.0, 21.0] * 3), numbered([12.0] * 6))
    assert all("coarse-times" in flags for flags in coarse)
    rows = [("a", 1, 20.0 + i % 2, i) for i in range(6)] + [("a", 2, 12.0, i) for i in range(6)]
    first, second = configurations(of_table(rows), interleaved=False).to_dicts()
    assert (first["wall_s_low"], first["wall_s_high"]) == (19.5, 21.5)
    assert (second["wall_s_low"], second["wall_s_high"]) == (11.5, 12.5)
    assert second["speedup_low"] < 20 / 12.5
    # A step that is small beside the scatter, or beside the time, raises none.
    scattered = flags_of(numbered([20.0, 29.0] * 3), numbered([12.0, 17.0] * 3))
    assert not any("coarse-times" in flags for flags in scattered)
    long = flags_of(numbered([2000.0, 2001.0] * 3), numbered([1200.0] * 6))
    assert not any("coarse-times" in flags for flags in long)


def test_no_choice_is_sure_that_rounding_could_turn():
    rows = [("a", n, wall_s, i) for n, wall_s in ((1, 20.0), (2, 14.0)) for i in range(6)]
    trials = of_table(rows)
    found = configurations(trials, interleaved=False)
    (choice,) = choices(found, trials, aims=[Aim(objective="knee")], interleaved=False)
    assert choice.sureness == "undecided"
    exact = trials.with_columns(rounded_to_s=pl.lit(None, pl.Float64))
    (choice,) = choices(found, exact, aims=[Aim(objective="knee")], interleaved=False)
    assert choice.sureness == "sure"


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ([1, 1, 1, 2, 2, 2], True),
        ([2, 2, 1, 1, 4], True),
        ([1, 2, 1, 2], False),
        ([1, 1, 2, 2, 1], False),
        # One trial of each has no order to tell.
        ([1, 2, 4], False),
        ([1, 1, 2], False),
    ],
)
def test_trials_of_one_n_are_in_a_row_where_no_other_n_is_between_them(counts, found):
    assert in_a_row(counts) is found


def test_the_order_is_that_of_the_starts_or_else_of_the_rows_without_blocks():
    rows = [("a", n, 9.123 / n + i, i) for n in (1, 2) for i in range(3)]
    assert of_table(rows)["in_a_row"].all()
    in_turns = pl.Series([datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (0, 2, 4, 1, 3, 5)])
    assert not of_table(rows, start=in_turns)["in_a_row"].any()
    assert of_table(rows, start=in_turns.sort())["in_a_row"].all()
    assert not of_table(rows, block=pl.col("repeat"))["in_a_row"].any()
    found = configurations(of_table(rows), interleaved=False)
    assert all("in-a-row" in flags for flags in found["flags"])
