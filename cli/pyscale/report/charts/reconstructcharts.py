"""The chart of a reconstruction over ranks: the speedup of each component, beside the ideal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyscale.report.charts.chart import Chart
from pyscale.report.charts.look import colour, curve_colours, curve_shapes, dashes
from pyscale.report.charts.points import (
    ASIDE_PX,
    BARS,
    Shown,
    finished,
    legend_of,
    tooltips,
)
from pyscale.report.plots.reconstructrows import lines_of, panels_of
from pyscale.report.wording import listing

if TYPE_CHECKING:
    import altair as alt

Row = dict[str, Any]
COMPONENTS = "reconstruct_components"
"""Name of the dataset."""
SEEN = {
    "curve": "Reconstruction",
    "line": "Component",
    "workers": "Ranks N",
    "speed": "Speedup",
    "sure": "95 % interval",
    "efficient": "Efficiency",
    "normalised": "Work-normalised",
    "took": "Takes",
    "shared": "Of the ranks' time",
    "doubts": "Doubts",
}
SHOWN = Shown("speedup", "speedup", "Speedup over N0", "Speedup over N0", base=2)
NOTE = (
    "Dashed: ideal. N0 are the fewest ranks that ran; what one rank alone does not do has no "
    f"speedup over it. {BARS}"
)


def components(rows: Sequence[Row]) -> Chart | None:
    """Draw the speedup of each component over N, a panel for each reconstruction; None without any.

    Parameters
    ----------
    rows : sequence of dict
        As `pyscale.report.plots.reconstructrows.speedup_rows` gives them.
    """
    import altair as alt

    if not rows:
        return None
    panels, lines = panels_of(list(rows)), lines_of(list(rows))
    several = panels if len(panels) > 1 else []
    drawn = alt.Chart(alt.NamedData(name=COMPONENTS))
    if several:
        drawn = drawn.transform_filter("datum.curve == panel")
    tinted = alt.Color(
        "line:N",
        title=None,
        scale=alt.Scale(domain=lines, range=curve_colours(len(lines))),
        legend=None,
    )
    shaped = alt.Shape(
        "line:N",
        title=None,
        scale=alt.Scale(domain=lines, range=curve_shapes(len(lines))),
        legend=None,
    )
    x = _x(sorted({row["workers"] for row in rows}))
    place: dict[str, Any] = {"xOffset": alt.expr(f"{ASIDE_PX} * datum.aside")}
    layers = [
        drawn.transform_aggregate(groupby=["workers"], ideal="max(ideal)")
        .mark_line(color=colour("ideal"), **dashes())
        .encode(x=x, y=_y("ideal")),
        drawn.transform_filter("isValid(datum.speedup_low)")
        .mark_rule(strokeWidth=2.5, opacity=0.55, strokeCap="round", **place)
        .encode(x=x, y=_y("speedup_low"), y2="speedup_high:Q", color=tinted),
        drawn.mark_point(filled=True, opacity=1, size=75, **place).encode(
            x=x, y=_y("speedup"), color=tinted, shape=shaped, tooltip=tooltips(SEEN)
        ),
    ]
    told = " ".join(f"{panel}: {_told(panel, rows)}." for panel in panels)
    return Chart(
        id="components",
        title="Speedup of each component over ranks",
        description=f"{NOTE} {told}",
        spec=finished(
            alt.layer(*layers),
            SHOWN,
            NOTE,
            panels=several,
            legend=legend_of(lines, curve_colours(len(lines)), curve_shapes(len(lines))),
        ),
    )


def _x(counts: Sequence[int]) -> alt.X:
    import altair as alt

    domain = [min(counts) / 1.25, max(counts) * 1.25]
    scale = alt.Scale(type="log", base=2, domain=domain, nice=False, padding=16)
    axis = alt.Axis(values=list(counts), format="d", labelOverlap="greedy")
    return alt.X("workers:Q", title="Ranks N", scale=scale, axis=axis)


def _y(column: str) -> alt.Y:
    import altair as alt

    scale = alt.Scale(type="log", base=2, nice=False, padding=16)
    return alt.Y(f"{column}:Q", title=None, scale=scale, axis=alt.Axis(tickCount=6))


def _told(panel: str, rows: Sequence[Row]) -> str:
    own = [row for row in rows if row["curve"] == panel]
    most = max(row["workers"] for row in own)
    speeds = [f"{row['line']} {row['speed']}" for row in own if row["workers"] == most]
    return f"at N = {most} {listing(speeds)}"
