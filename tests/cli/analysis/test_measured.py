"""What stages tell: numbers, taken together over windows, and warnings, one a code."""

import json

import polars as pl
import pytest

from pyscale.analysis.measured import measured_points, measured_trials
from pyscale.analysis.scaling import configurations
from pyscale.analysis.warned import of_trials
from pyscale.store.tables import measure_schema
from pyscale_stages.measured import Warned

REPEATS = 6


def told(trial, verb, *values, **declared):
    """What the tasks of a trial say of one number."""
    number = {"name": "cells", "unit": "", "better": "higher", "over": "sum", "means": ""}
    return [
        {"trial": trial, "task": f"{verb}{place}", "verb": verb, "value": value} | number | declared
        for place, value in enumerate(values)
    ]


@pytest.fixture
def trials(new_run):
    """Six trials of one worker and six of two."""
    return new_run().curve("segment", lambda n, _: 8.0 / n, blocks=REPEATS).trials


def measures(*rows):
    return pl.DataFrame([row for own in rows for row in own], measure_schema(), orient="row")


def at_each_n(trials, one, two, **declared):
    """Numbers of all trials of one worker, and of two."""
    values = {1: iter(one), 2: iter(two)}
    rows = [
        told(row["trial"], "run", next(values[row["workers"]]), **declared)
        for row in trials.iter_rows(named=True)
    ]
    return measured_trials(measures(*rows), trials)


@pytest.mark.parametrize(
    ("over", "value"), [("sum", 9.0), ("mean", 3.0), ("most", 6.0), ("least", 1.0)]
)
def test_windows_are_taken_together_as_the_number_says(trials, over, value):
    found = measured_trials(
        measures(told(trials["trial"][0], "run", 1.0, 2.0, 6.0, over=over)), trials
    )
    assert found.select("stage", "workers", "name", "value").rows() == [
        ("segment", 1, "cells", value)
    ]


def test_a_merge_counts_in_place_of_windows_and_a_trial_that_does_not_count_tells_nothing(trials):
    first = trials["trial"][0]
    table = measures(told(first, "run", 1.0, 2.0), told(first, "merge", 2.5))
    assert measured_trials(table, trials)["value"].to_list() == [2.5]
    failed = measured_trials(table, trials.with_columns(valid=pl.lit(False)))
    assert failed.is_empty()
    assert measured_points(failed).is_empty()


@pytest.mark.parametrize(
    ("two", "declared", "worse"),
    [
        (0.8, {"better": "higher"}, True),
        (1.2, {"better": "higher"}, False),
        (1.2, {"better": "lower"}, True),
        (0.98, {"better": "higher"}, False),
        (0.8, {"better": None}, None),
    ],
)
def test_a_number_is_worse_beyond_five_percent_in_its_own_direction(trials, two, declared, worse):
    values = [100.0 + place / 100 for place in range(REPEATS)]
    table = at_each_n(trials, values, [two * value for value in values], **declared)
    first, second = measured_points(table).iter_rows(named=True)
    assert (first["over_baseline"], first["repeats"]) == (1.0, REPEATS)
    assert second["over_baseline"] == pytest.approx(two)
    assert second["value_low"] <= second["value"] <= second["value_high"]
    assert (second["baseline_workers"], second["worse"]) == (1, worse)


@pytest.mark.parametrize(
    ("one", "two", "better", "over", "worse"),
    [
        (0.0, 50.0, "lower", None, True),
        (0.0, -50.0, "lower", None, False),
        (0.0, -50.0, "higher", None, True),
        (0.0, 0.0, "lower", None, False),
        (-10.0, -20.0, "higher", 2.0, True),
        (-10.0, -20.0, "lower", 2.0, False),
        (-10.0, -5.0, "lower", 0.5, True),
        (-10.0, -9.8, "lower", 0.98, False),
    ],
)
def test_a_baseline_of_zero_or_below_is_compared_by_the_difference(
    trials, one, two, better, over, worse
):
    table = at_each_n(trials, [one] * REPEATS, [two] * REPEATS, better=better)
    first, second = measured_points(table).iter_rows(named=True)
    assert second["over_baseline"] == (None if over is None else pytest.approx(over))
    assert (first["worse"], second["worse"]) == (False, worse)


def test_numbers_that_scatter_as_much_as_they_differ_are_not_worse(trials):
    one, two = [80.0, 90.0, 100.0, 110.0, 120.0, 130.0], [70.0, 80.0, 85.0, 95.0, 100.0, 110.0]
    assert measured_points(at_each_n(trials, one, two))["worse"].to_list() == [False, False]


LEFT = Warned(code="unregistered-frames", text="were not moved", doubts_result=True)
SLOW = Warned(code="slow-disk", text="the disk is slow")


def left(concerned, seen=24):
    return LEFT.model_copy(update={"concerned": concerned, "seen": seen})


def many(concerned):
    return left(concerned).model_copy(update={"code": "touching", "above": 0.5})


def warned_of(run, *tasks, block=1):
    """Add a trial of as many windows as there are lists."""
    run.trial("segment", [{"compute": 1.0}] * len(tasks), block=block)
    rows = [row for row in run._tasks if row["verb"] == "run"][-len(tasks) :]
    for row, warnings in zip(rows, tasks, strict=True):
        row["warned"] = json.dumps([one.model_dump() for one in warnings])
    return run


def codes_of(run):
    table = run.configurations
    return [list(codes) for codes in table["warnings"]]


@pytest.mark.parametrize(
    ("trials", "codes"),
    [
        # Windows of a trial add up, and of several trials the worst counts.
        ([([("left", 17)], [("left", 20)])], ["unregistered-frames=37/48"]),
        ([([("left", 1)],), ([("left", 20)],)], ["unregistered-frames=20/24"]),
        # The whole decides and no window: 20 of 24 in one is much, 20 of 48 is not.
        ([([("many", 20)], [("many", 0)])], []),
        ([([("many", 20)], [("many", 5)])], ["touching=25/48"]),
    ],
)
def test_windows_add_up_and_of_trials_the_worst_counts(new_run, trials, codes):
    run, make = new_run(), {"left": left, "many": many}
    for block, tasks in enumerate(trials):
        warned_of(run, *([make[name](count) for name, count in own] for own in tasks), block=block)
    assert codes_of(run) == [codes]


def test_a_merge_that_says_what_windows_say_is_not_counted_twice(new_run):
    run = warned_of(new_run(), [left(10)], [left(10)])
    (merge,) = (row for row in run._tasks if row["verb"] == "merge")
    merge["warned"] = json.dumps([left(21, 48).model_dump()])
    assert codes_of(run) == [["unregistered-frames=21/48"]]


def test_what_doubts_the_result_comes_first_and_is_marked(new_run):
    run = warned_of(new_run(), [SLOW, left(20)])
    trials = run.trials
    assert [one.code for one in of_trials(trials)] == [
        "unregistered-frames=20/24",
        "slow-disk",
    ]
    assert configurations(trials)["result_doubted"].to_list() == [True]
    noted = warned_of(new_run(), [SLOW])
    assert noted.configurations["result_doubted"].to_list() == [False]


def test_other_sentences_under_one_code_are_counted(new_run):
    other = SLOW.model_copy(update={"text": "the other disk is slow"})
    run = warned_of(new_run(), [SLOW, SLOW, other])
    (found,) = of_trials(run.trials)
    assert (found.worst, found.others) == (SLOW, 1)
