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
from pyscale.evaluation.results import analysed
from pyscale.report.charts.all import charts, datasets
from pyscale.report.context import ReportContext


@pytest.fixture
def referred(uneven):
    """Results beside those of another machine, which had four workers too."""
    table = pl.DataFrame({"stage": ["cells"] * 3, "workers": [1, 2, 4], "wall_s": [9.0, 6.0, 4.0]})
    own = configurations(trials_from_wall_times(table)).with_columns(
        label="stage", stage=pl.lit("segment")
    )
    other = reference(title="Another pipeline", stages={"cells": "segment"})
    return replace(uneven, references=[Referred(other, own)])


def by_id(results):
    return {chart.id: chart for chart in charts(results)}


def named(value):
    """Every dataset that a spec names."""
    if isinstance(value, list):
        return {name for one in value for name in named(one)}
    if not isinstance(value, dict):
        return set()
    own = {value["data"]["name"]} if "data" in value else set()
    return own | {name for one in value.values() for name in named(one)}


def test_a_table_of_wall_times_shows_what_it_holds():
    table = pl.DataFrame({"stage": ["segment"] * 2, "workers": [1, 2], "wall_s": [10.0, 6.0]})
    results = analysed(trials_from_wall_times(table), ReportContext(title="a table"))
    assert list(by_id(results)) == ["speedup", "walltime"]


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


def test_what_was_measured_elsewhere_is_hollow_and_names_its_source(referred):
    speedup = by_id(referred)["speedup"]
    (layer,) = (
        layer
        for layer in speedup.spec["layer"]
        if named(layer) == {"references"} and layer["mark"]["type"] == "point"
    )
    assert layer["mark"]["filled"] is False
    assert {"field": "source", "title": "Source", "type": "nominal"} in layer["encoding"]["tooltip"]
    assert "Hollow and grey: Another pipeline" in speedup.description
    legend = speedup.spec["usermeta"]["legend"]
    assert [one["name"] for one in legend if "hollow" in one] == ["Another pipeline"]
    # It is shown as far as N was measured here.
    assert {row["workers"] for row in datasets(referred)["references"]} == {1, 2}


@pytest.mark.slow
def test_names_of_any_length_stand_whole_in_a_legend_that_wraps(full):
    for chart in charts(full):
        assert not [one for one in named_legends(chart.spec) if one is not None]
    (speedup,) = (one for one in charts(full) if one.id == "speedup")
    told = [one["name"] for one in speedup.spec["usermeta"]["legend"]]
    assert told == ["register_denoise", "segment", "contact", "track"]


def named_legends(value):
    """Every legend that a spec leaves to Vega."""
    if isinstance(value, list):
        return [found for one in value for found in named_legends(one)]
    if not isinstance(value, dict):
        return []
    own = [value["legend"]] if "scale" in value and "legend" in value else []
    return own + [f for key, one in value.items() if key != "usermeta" for f in named_legends(one)]


def test_costs_are_shown_where_they_are_known(uneven):
    priced = uneven.configurations.with_columns(
        core_hours=pl.lit(0.5),
        money=pl.lit(2.0),
        money_per_work=pl.lit(0.1),
        currency=pl.lit("EUR"),
    )
    cost = by_id(replace(uneven, configurations=priced))["cost"]
    assert "2.00 EUR at N = 1" in cost.description
