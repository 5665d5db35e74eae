"""A chart of the page, and what all of them have.

Channels are objects: Altair compares one that is a string with its whole schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from pydantic import Field

from pyscale.report.dictionary import entry, labels, meaning
from pyscale.report.palette import colour
from pyscale_stages.contract import Record

Row = dict[str, Any]
HEIGHT_PX, PANEL_HEIGHT_PX = 200, 140
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
TEXT_PX = 12
AUTOSIZE = {"type": "fit-x", "contains": "padding"}
"""As wide as the page has room for, labels included; as high as it is told."""
WRITTEN = {
    "number": "{0} == 0 ? '0' : format({0}, abs({0}) < 100 ? '.3r' : '.0f')",
    "whole": "format({0}, '.0f')",
    "ratio": "format({0}, '.2f')",
    "percent": "format(100 * {0}, '.0f') + ' %'",
    "GiB": "format({0} / 1073741824, '.3r')",
    "ms": "format(1000 * {0}, '.3r')",
    "rounded": "format({0}, '.0f')",
    "words": "isBoolean({0}) ? ({0} ? 'yes' : 'no') : "
    "isArray({0}) ? join({0}, ', ') || 'none' : {0} || 'none'",
}
"""How Vega writes a value, as `dictionary.WAYS` does in tables; what has none is a number."""


class Chart(Record):
    """One chart, or one in several panels, as charts.js draws it."""

    id: str = Field(description="What the page calls it")
    title: str = Field(description="What it shows, as its caption")
    description: str = Field(description="How to read it, for those who do not see it too")
    spec: dict[str, Any] = Field(
        description="Vega-Lite; its data are names of datasets, and `usermeta` holds `note` (how "
        "to read it), `titles` (what it shows, absolute and relative), `panels` (curves, where "
        "each has a panel of its own), `legend` (name, colour and mark of each part) and `wide` "
        "(whether panels lie below each other)"
    )
    data: dict[str, Any] = Field({}, exclude=True, description="Rows of its datasets")


def finished(
    name: str,
    title: str,
    note: str,
    layers: Sequence[alt.Chart],
    titles: tuple[str, str],
    *params: alt.Parameter,
    panels: Sequence[str],
    data: Mapping[str, Sequence[Row]],
    height_px: int = 0,
    **meta: Any,
) -> Chart:
    """Lay the layers upon each other; `titles` are those of absolute and of relative amounts."""
    own = [alt.param(name="amount", value="absolute"), *params]
    if panels:
        own.append(alt.param(name="panel", value=""))
    named = dict(zip(("absolute", "relative"), titles, strict=True))
    spec = layered(layers, height_px or (PANEL_HEIGHT_PX if panels else HEIGHT_PX), *own)
    told = {"note": note, "titles": named, "panels": list(panels), **meta}
    return Chart(
        id=name,
        title=title,
        description=note,
        spec=spec | {"autosize": AUTOSIZE, "config": config(), "usermeta": told},
        data={key: list(rows) for key, rows in data.items()},
    )


def layered(layers: Sequence[alt.Chart], height_px: int, *params: alt.Parameter) -> dict[str, Any]:
    """Specification of layers upon each other, as wide as there is room."""
    # Every change of a whole chart copies all of its layers, and more than once.
    first, *others = layers
    whole = alt.layer(first.add_params(*params), *others, width="container", height=height_px)
    spec: dict[str, Any] = whole.to_dict(validate=False)
    return spec


def telling(
    rows: alt.Chart, table: str, own: Sequence[Row], columns: Sequence[str]
) -> tuple[alt.Chart, list[alt.Tooltip]]:
    """Add what a reader sees when pointing at a mark: columns as the tables write and head them."""
    shown = []
    for column in columns:
        value = next((row[column] for row in own if row.get(column) is not None), None)
        if value is None:
            continue
        declared = entry(table, column)
        way = "words" if isinstance(value, str | bool | list) else declared.written
        way = "whole" if way == "number" and isinstance(value, int) else way
        written = WRITTEN.get(way, WRITTEN["number"])
        text = f"isValid(datum.{column}) ? {written.format(f'datum.{column}')} : '-'"
        if f"{column}_low" in own[0]:
            low, high = (written.format(f"datum.{column}_{end}") for end in ("low", "high"))
            ends = f"' [' + ({low}) + ', ' + ({high}) + ']'"
            text = f"({text}) + (isValid(datum.{column}_low) ? {ends} : '')"
        rows = rows.transform_calculate(f"told_{column}", text)
        head = labels("drawn").get(column) or declared.head or meaning(table, column)
        head = head.replace("{currency}", str(own[0].get("currency")))
        shown.append(alt.Tooltip(f"told_{column}:N", title=head))
    return rows, shown


def chosen(absolute: str, relative: str) -> str:
    """The amount that the reader has chosen, of two expressions."""
    return f"amount == 'relative' ? {relative} : {absolute}" if relative else absolute


def legend_of(names: Sequence[str], colours: Sequence[str]) -> list[dict[str, str]]:
    """Entries of the legend above a chart, whose names are as long as they are."""
    return [{"name": one, "colour": own} for one, own in zip(names, colours, strict=True)]


def config() -> dict[str, Any]:
    """What Vega-Lite is told of every chart."""
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
    }


def cross(**place: Any) -> dict[str, Any]:
    """Mark of an invalid configuration."""
    path = "M-1,-1L1,1M1,-1L-1,1"
    line = {"stroke": colour("invalid"), "strokeWidth": 2.5, "opacity": 1}
    return {"shape": path, "size": 65, **line, **place}


def dashes() -> dict[str, Any]:
    """Line of what would be ideal."""
    return {"strokeDash": [5, 4], "strokeWidth": 1.3}
