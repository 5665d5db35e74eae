"""A chart of the page, and what all of them have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from pyscale.report.charts.look import config
from pyscale_stages.contract import Record

HEIGHT_PX, PANEL_HEIGHT_PX = 200, 140
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
    layers: Sequence[Any],
    titles: tuple[str, str],
    note: str,
    *,
    panels: Sequence[str] = (),
    params: Sequence[Any] = (),
    **meta: Any,
) -> dict[str, Any]:
    """Vega-Lite of layers; `titles` are those of absolute and of relative amounts."""
    import altair as alt

    own = [alt.param(name="amount", value="absolute"), *params]
    if panels:
        own.append(alt.param(name="panel", value=""))
    height = PANEL_HEIGHT_PX if panels else HEIGHT_PX
    sized = alt.layer(*layers).properties(width="container", height=height).add_params(*own)
    spec: dict[str, Any] = sized.to_dict(validate=False)
    told = {"note": note, "titles": dict(zip(("absolute", "relative"), titles, strict=True))}
    meta = told | {"panels": list(panels)} | meta
    return spec | {"autosize": AUTOSIZE, "config": config(), "usermeta": meta}


def chosen(absolute: str, relative: str) -> str:
    """Column of the amount that the reader has chosen, as an expression."""
    return f"amount == 'relative' ? datum.{relative} : datum.{absolute}"


def legend_of(names: Sequence[str], colours: Sequence[str]) -> list[dict[str, str]]:
    """Entries of the legend above a chart, whose names are as long as they are."""
    return [{"name": one, "colour": own} for one, own in zip(names, colours, strict=True)]


def tooltips(columns: Mapping[str, str]) -> list[Any]:
    """What a reader sees when pointing at a mark: texts of the dataset, and what they are."""
    import altair as alt

    return [alt.Tooltip(f"{column}:N", title=title) for column, title in columns.items()]
