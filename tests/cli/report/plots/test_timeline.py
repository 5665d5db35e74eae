from dataclasses import replace

import pytest

from pyscale.report.charts.timeline import timeline
from pyscale.report.plots.timeline import timeline_rows


@pytest.fixture
def rows(uneven):
    return timeline_rows(uneven)


def shown(chart):
    (value,) = (param["value"] for param in chart.spec["params"] if param["name"] == "trial")
    return value


def test_it_opens_with_the_middle_trial_of_what_loses_most_to_idle_time(uneven, rows):
    first = shown(timeline(uneven))
    (row,) = (row for row in rows if row["trial"] == first)
    assert (row["curve"], row["workers"], row["middle"]) == ("segment", 2, True)


def test_it_says_who_waited_for_whom_on_lanes_that_are_grouped_by_node(rows):
    row = next(row for row in rows if (row["curve"], row["workers"]) == ("segment", 2))
    assert row["summary"] == (
        "Worker 1 ended last; the others waited 3.00 worker-seconds for it, and then 0.25 s for "
        "the merge."
    )
    assert row["lanes"] == ["node1 · 1", "node2 · 0"]
    assert row["nodes"] == ["node1", "node2"]


def test_without_tasks_in_time_there_is_nothing_to_show(uneven):
    assert timeline(replace(uneven, timeline=uneven.timeline.clear())) is None
