"""Warnings of tasks become one a code of each stage and N."""

import json

import pytest

from pyscale.analysis.scaling import configurations
from pyscale.analysis.warned import of_trials
from pyscale_stages.measured import Warned

LEFT = Warned(code="unregistered-frames", text="were not moved", doubts_result=True)
SLOW = Warned(code="slow-disk", text="the disk is slow")


def left(concerned, seen=24):
    return LEFT.model_copy(update={"concerned": concerned, "seen": seen})


def many(concerned):
    return left(concerned).model_copy(update={"code": "touching", "above": 0.5})


def told(run, *tasks, block=1):
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
        told(run, *([make[name](count) for name, count in own] for own in tasks), block=block)
    assert codes_of(run) == [codes]


def test_a_merge_that_says_what_windows_say_is_not_counted_twice(new_run):
    run = told(new_run(), [left(10)], [left(10)])
    (merge,) = (row for row in run._tasks if row["verb"] == "merge")
    merge["warned"] = json.dumps([left(21, 48).model_dump()])
    assert codes_of(run) == [["unregistered-frames=21/48"]]


def test_what_doubts_the_result_comes_first_and_is_marked(new_run):
    run = told(new_run(), [SLOW, left(20)])
    trials = run.trials
    assert [one.code for one in of_trials(trials)] == [
        "unregistered-frames=20/24",
        "slow-disk",
    ]
    assert configurations(trials)["result_doubted"].to_list() == [True]
    noted = told(new_run(), [SLOW])
    assert noted.configurations["result_doubted"].to_list() == [False]


def test_other_sentences_under_one_code_are_counted(new_run):
    other = SLOW.model_copy(update={"text": "the other disk is slow"})
    run = told(new_run(), [SLOW, SLOW, other])
    (found,) = of_trials(run.trials)
    assert (found.worst, found.others) == (SLOW, 1)
