import json
import re
from dataclasses import replace

import altair as alt
import polars as pl
import pytest
import vl_convert

from madeupreference import reference
from pyscale.analysis.referencemodel import Referred
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.charts.all import charts, datasets


@pytest.fixture
def referred(uneven):
    """Results beside those of another machine, which had four workers too."""
    table = pl.DataFrame({"stage": ["cells"] * 3, "workers": [1, 2, 4], "wall_s": [9.0, 6.0, 4.0]})
    own = configurations(trials_from_wall_times(table)).with_columns(
        label="stage", stage=pl.lit("segment")
    )
    other = reference(title="Another pipeline", stages={"cells": "segment"})
    return replace(uneven, references=[Referred(other, own)])


def named(value):
    """Every dataset that a spec names."""
    if isinstance(value, list):
        return {name for one in value for name in named(one)}
    if not isinstance(value, dict):
        return set()
    own = {value["data"]["name"]} if "data" in value else set()
    return own | {name for one in value.values() for name in named(one)}


def test_where_nothing_was_timed_there_is_no_chart(new_run):
    results = new_run().trial("segment", [{"compute": 1.0}], failed=["w0"]).results()
    assert charts(results) == []
    assert not any(rows for name, rows in datasets(results).items() if name != "colours")


@pytest.mark.slow
@pytest.mark.parametrize("results", ["referred", "thin"])
def test_vega_lite_takes_every_chart_without_a_warning(results, request, capfd):
    results = request.getfixturevalue(results)
    rows = datasets(results)
    for chart in charts(results):
        alt.LayerChart.validate(chart.spec)
        vl_convert.vegalite_to_vega(chart.spec | {"datasets": rows}, show_warnings=True)
    assert capfd.readouterr() == ("", "")


def test_charts_name_their_data_what_they_show_and_colours_that_change_with_the_theme(referred):
    rows, every = datasets(referred), charts(referred)
    assert {name for chart in every for name in named(chart.spec)} == rows.keys() - {"colours"}
    json.dumps(rows, allow_nan=False)
    specs = json.dumps([chart.spec for chart in every])
    used = set(re.findall(r"var\(--chart-([\w-]+), #", specs))
    assert used <= {row["name"] for row in rows["colours"]}
    assert specs.count("#") == specs.count("var(--chart-")
    for chart in every:
        assert chart.spec["usermeta"]["note"] in chart.description
        assert "segment" in chart.description or chart.id == "cache"
