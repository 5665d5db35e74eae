"""A chart of the page, and what all of them have.

Channels are objects: Altair compares one that is a string with its whole schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from pydantic import Field

from pyscale.report.palette import colour
from pyscale.report.plots.plot import Plot, Stack
from pyscale_stages.contract import Record

HEIGHT_PX, PANEL_HEIGHT_PX = 200, 140
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
TEXT_PX = 12
AUTOSIZE = {"type": "fit-x", "contains": "padding"}
"""As wide as the page has room for, labels included; as high as it is told."""


class Chart(Record):
    """One chart, or one in several panels, as charts.js draws it."""

    id: str = Field(description="What the page calls it")
    title: str = Field(description="What it shows, as its caption")
    description: str = Field(description="What can be seen in it, for those who do not see it")
    spec: dict[str, Any] = Field(
        description="Vega-Lite; its data are names of datasets, and `usermeta` holds `note` (how "
        "to read it), `titles` (what it shows, absolute and relative), `panels` (curves, where "
        "each has a panel of its own), `legend` (name, colour and mark of each part) and `wide` "
        "(whether panels lie below each other)"
    )


def finished(
    declared: Plot | Stack,
    layers: Sequence[alt.Chart],
    titles: tuple[str, str],
    *params: alt.Parameter,
    panels: Sequence[str],
    **meta: Any,
) -> Chart:
    """Lay the layers upon each other; `titles` are those of absolute and of relative amounts."""
    note = " ".join(declared.sentences)
    own = [alt.param(name="amount", value="absolute"), *params]
    if panels:
        own.append(alt.param(name="panel", value=""))
    named = dict(zip(("absolute", "relative"), titles, strict=True))
    return Chart(
        id=declared.id,
        title=declared.title,
        description=f"{note} {declared.told}",
        spec={
            **layered(layers, PANEL_HEIGHT_PX if panels else HEIGHT_PX, *own),
            "autosize": AUTOSIZE,
            "config": config(),
            "usermeta": {"note": note, "titles": named, "panels": list(panels), **meta},
        },
    )


def layered(layers: Sequence[alt.Chart], height_px: int, *params: alt.Parameter) -> dict[str, Any]:
    """Specification of layers upon each other, as wide as there is room."""
    # Every change of a whole chart copies all of its layers, and more than once.
    first, *others = layers
    whole = alt.layer(first.add_params(*params), *others, width="container", height=height_px)
    spec: dict[str, Any] = whole.to_dict(validate=False)
    return spec


def stack_chart(stack: Stack) -> Chart:
    """Draw bars of parts, absolute or relative as the reader chooses."""
    absolute, relative = stack.absolute, stack.relative
    names, colours = list(stack.names), [colour(name) for name in stack.names.values()]
    bar = stack.along.column
    rows = (
        alt.Chart(alt.NamedData(name=stack.dataset))
        .transform_filter(f"datum.{stack.panel} == panel")
        .transform_calculate("shown", chosen(absolute.column, relative.column))
    )
    axis = alt.Axis(labelAngle=0, labelOverlap="greedy")
    x = alt.X(f"{bar}:O", title=stack.along.title, sort=stack.bars, axis=axis)
    y = alt.Y("shown:Q", title=None, axis=alt.Axis(tickCount=5), stack="zero")
    tint = alt.Color("part:N", scale=alt.Scale(domain=names, range=colours), legend=None)
    layers = [
        rows.mark_bar(stroke=colour("edge"), strokeWidth=0.5).encode(
            x=x, y=y, color=tint, order=alt.Order("order:Q"), tooltip=tooltips(stack.seen)
        )
    ]
    if absolute.level and relative.level:
        level = rows.transform_calculate("level", chosen(absolute.level, relative.level))
        level = level.transform_aggregate(groupby=[bar], level="max(level)")
        layers += [
            level.mark_tick(thickness=thickness, color=colour(name)).encode(x=x, y=alt.Y("level:Q"))
            # With an edge it is seen on every part.
            for name, thickness in (("edge", 4), ("ink", 2))
        ]
    if stack.crossed:
        crosses = rows.transform_filter(f"datum.{stack.crossed}")
        crosses = crosses.transform_aggregate(groupby=[bar], total="sum(shown)")
        layers.append(crosses.mark_point(**cross(yOffset=-10)).encode(x=x, y=alt.Y("total:Q")))
    return finished(
        stack,
        layers,
        (absolute.title, relative.title),
        panels=stack.panels,
        stages={row[stack.panel]: row["curve"] for row in stack.rows},
        legend=legend_of(names, colours),
    )


def chosen(absolute: str, relative: str) -> str:
    """Column of the amount that the reader has chosen, as an expression."""
    return f"amount == 'relative' ? datum.{relative} : datum.{absolute}"


def legend_of(names: Sequence[str], colours: Sequence[str]) -> list[dict[str, str]]:
    """Entries of the legend above a chart, whose names are as long as they are."""
    return [{"name": one, "colour": own} for one, own in zip(names, colours, strict=True)]


def tooltips(columns: Mapping[str, str]) -> list[alt.Tooltip]:
    """What a reader sees when pointing at a mark: texts of the dataset, and what they are."""
    return [alt.Tooltip(f"{column}:N", title=title) for column, title in columns.items()]


def config() -> dict[str, Any]:
    """What Vega-Lite is told of every chart."""
    text = {"font": FONT, "fontSize": TEXT_PX}
    label = {"labelFont": FONT, "labelFontSize": TEXT_PX, "labelColor": colour("quiet")}
    title = {"titleFont": FONT, "titleFontSize": TEXT_PX, "titleColor": colour("ink")}
    return {
        "background": "transparent",
        "font": FONT,
        "aria": False,  # the figure is described as a whole, and its numbers stand in tables
        "view": {"stroke": None},
        "axis": {
            **label,
            **title,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domain": False,
            "grid": True,
            "gridColor": colour("grid"),
            "tickColor": colour("grid"),
            "labelPadding": 6,
        },
        "axisX": {"grid": False, "domain": True, "domainColor": colour("quiet"), "ticks": False},
        "axisY": {"ticks": False},
        "legend": {
            **label,
            **title,
            "labelColor": colour("ink"),
            "labelLimit": 240,
            "symbolSize": 80,
        },
        "title": {
            **text,
            "anchor": "start",
            "frame": "group",
            "fontWeight": "normal",
            "color": colour("ink"),
            "offset": 12,
        },
    }


def cross(**place: Any) -> dict[str, Any]:
    """Mark of an invalid configuration."""
    path = "M-1,-1L1,1M1,-1L-1,1"
    line = {"stroke": colour("invalid"), "strokeWidth": 2.5, "opacity": 1}
    return {"shape": path, "size": 65, **line, **place}


def dashes() -> dict[str, Any]:
    """Line of what would be ideal."""
    return {"strokeDash": [5, 4], "strokeWidth": 1.3}
