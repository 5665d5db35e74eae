"""Charts of the page draw columns of the tables, in colours that change with the theme."""

from dataclasses import replace

import polars as pl
import pytest

from madeupreference import reference
from pyscale.analysis.referencemodel import Referred
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.analysis.workers import TASK_PHASES
from pyscale.report import palette
from pyscale.report.charts.overworkers import timeline, timeline_rows
from pyscale.report.page.write import charts


@pytest.fixture
def referred(uneven):
    """Results beside those of another machine, which had four workers too."""
    table = pl.DataFrame({"stage": ["cells"] * 3, "workers": [1, 2, 4], "wall_s": [9.0, 6.0, 4.0]})
    own = configurations(trials_from_wall_times(table)).with_columns(
        label="stage", stage=pl.lit("segment")
    )
    other = reference(title="Another pipeline", stages={"cells": "segment"})
    return replace(uneven, references=[Referred(other, own)])


def test_a_reference_is_drawn_as_far_as_was_measured_here(referred):
    (speedup,) = (chart for chart in charts(referred) if chart.id == "speedup")
    drawn = speedup.data["speedup_elsewhere"]
    assert [(row["curve"], row["workers"], row["wall_s"]) for row in drawn] == [
        ("segment", 1, 9.0),
        ("segment", 2, 6.0),
    ]


def test_every_part_of_the_time_has_a_colour_and_every_curve_a_shape():
    assert set(palette.PARTS) >= {*TASK_PHASES, "unattributed", "idle", "busy", "queue"}
    assert len(palette.CURVES) == len(palette.SHAPES) == len(set(palette.SHAPES))


class TestTimeline:
    @pytest.fixture
    def rows(self, uneven):
        return timeline_rows(uneven)

    def test_it_opens_with_the_middle_trial_of_what_loses_most_to_idle_time(self, uneven, rows):
        params = timeline(uneven).spec["params"]
        (first,) = (param["value"] for param in params if param["name"] == "trial")
        (row,) = (row for row in rows if row["trial"] == first)
        assert (row["curve"], row["workers"]) == ("segment", 2)

    def test_it_says_who_waited_for_whom_on_lanes_that_are_grouped_by_node(self, rows):
        row = next(row for row in rows if (row["curve"], row["workers"]) == ("segment", 2))
        assert row["summary"] == (
            "Worker 1 ended last; the others waited 3.20 worker-seconds for it, and then 0.25 s "
            "for the merge."
        )
        assert row["lanes"] == ["node1 · 1", "node2 · 0"]
        assert row["nodes"] == ["node1", "node2"]
