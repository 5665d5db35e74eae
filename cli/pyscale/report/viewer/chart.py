"""Wall times of several runs, bars side by side, a panel for each stage."""

from __future__ import annotations

from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from pyscale.report.charts.chart import Chart, config, layered
from pyscale.report.palette import colour, curve_colours
from pyscale.report.viewer.build import Viewer

DATASET = "side-by-side"
HEIGHT_PX = 130
MOST_LETTERS = 4
"""Bars at one N that are wide enough for a letter each."""
NOTE = (
    "Each bar is the median wall time of one run; lines are 95 % intervals, where there are "
    "enough trials."
)


def bars(viewer: Viewer) -> tuple[Chart, list[dict[str, Any]]]:
    """Draw the wall times of all columns."""
    rows = _rows(viewer)
    letters = [column.id for column in viewer.columns]
    panels = list(dict.fromkeys(row["curve"] for row in rows))
    # As other charts of a report, it is not checked against its schema.
    with debug_mode(False):
        spec = _spec(letters)
    spec |= {
        "config": config(),
        "usermeta": {
            "titles": {"absolute": "Wall time of each run (s)"},
            "note": NOTE,
            "panels": panels,
            "legend": [
                {"name": name, "colour": hue}
                for name, hue in zip(letters, curve_colours(len(letters)), strict=True)
            ],
        },
    }
    return Chart(
        id="side-by-side",
        title="Wall time of each run",
        description=f"{NOTE} The table below has every number.",
        spec=spec,
    ), rows


def _spec(letters: list[str]) -> dict[str, Any]:
    x = alt.X("workers:O", title="Workers N", axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("run:N", sort=letters, scale=alt.Scale(domain=letters, paddingInner=0.12))
    tooltip = [
        alt.Tooltip(field, title=title, format=form)
        for field, title, form in (
            ("name:N", "Run", ""),
            ("curve:N", "Stage", ""),
            ("workers:N", "Workers N", ""),
            ("wall_s:Q", "Wall time (s)", ".3~r"),
            ("low:Q", "At least (s)", ".3~r"),
            ("high:Q", "At most (s)", ".3~r"),
            ("repeats:Q", "Timed trials", ""),
        )
    ]
    own = alt.Chart(alt.NamedData(name=DATASET)).transform_filter("datum.curve == panel")
    layers = [
        own.mark_bar(aria=False).encode(
            x=x,
            xOffset=offset,
            y=alt.Y("wall_s:Q", title=None, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4)),
            color=alt.Color(
                "run:N",
                legend=None,
                scale=alt.Scale(domain=letters, range=curve_colours(len(letters))),
            ),
            tooltip=tooltip,
        ),
        own.transform_filter("isValid(datum.low)")
        .mark_rule(aria=False, color=colour("ink"), strokeWidth=1.2)
        .encode(x=x, xOffset=offset, y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
    ]
    if len(letters) <= MOST_LETTERS:
        # They tell the bars apart in grey.
        layers.append(
            own.mark_text(aria=False, dy=-7, fontSize=11, color=colour("ink")).encode(
                x=x, xOffset=offset, y=alt.Y("top:Q"), text=alt.Text("run:N")
            )
        )
    return layered(layers, HEIGHT_PX, alt.param(name="panel", value=""))


def _rows(viewer: Viewer) -> list[dict[str, Any]]:
    return [
        {
            "run": column.id,
            "name": f"{column.id}: {column.name}",
            "curve": row.curve,
            "workers": row.labels["workers"],
            "wall_s": cell.wall_s,
            "low": cell.wall_s_low,
            "high": cell.wall_s_high,
            "top": cell.wall_s_high or cell.wall_s,
            "repeats": cell.repeats,
        }
        for row in viewer.rows
        if row.curve is not None and not row.part
        for column, cell in zip(viewer.columns, row.cells, strict=True)
        if cell is not None and cell.wall_s is not None
    ]
