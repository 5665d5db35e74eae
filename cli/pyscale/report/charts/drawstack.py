"""Draw declared stacked bars on the page."""

from __future__ import annotations

from typing import Any

from pyscale.report.charts.chart import Chart, chosen, finished, legend_of, tooltips
from pyscale.report.charts.look import colour, cross
from pyscale.report.plots.plot import Stack


def stack_chart(stack: Stack) -> Chart:
    """Draw bars of parts, absolute or relative as the reader chooses."""
    import altair as alt

    absolute, relative = stack.absolute, stack.relative
    names, colours = list(stack.names), [colour(name) for name in stack.names.values()]
    rows = (
        alt.Chart(alt.NamedData(name=stack.dataset))
        .transform_filter(f"datum.{stack.panel} == panel")
        .transform_calculate("shown", chosen(absolute.column, relative.column))
    )
    bars = alt.Axis(labelAngle=0, labelOverlap="greedy")
    x = alt.X(f"{stack.along.column}:O", title=stack.along.title, sort=stack.bars, axis=bars)
    y = alt.Y("shown:Q", title=None, axis=alt.Axis(tickCount=5), stack="zero")
    tint = alt.Color("part:N", scale=alt.Scale(domain=names, range=colours), legend=None)
    told = tooltips(stack.seen)
    layers = [
        rows.mark_bar(stroke=colour("edge"), strokeWidth=0.5).encode(
            x=x, y=y, color=tint, order=alt.Order("order:Q"), tooltip=told
        )
    ]
    if absolute.level and relative.level:
        level = rows.transform_calculate(
            "level", chosen(absolute.level, relative.level)
        ).transform_aggregate(groupby=[stack.along.column], level="max(level)")
        layers += [
            level.mark_tick(thickness=thickness, color=colour(name)).encode(x=x, y="level:Q")
            # With an edge it is seen on every part.
            for name, thickness in (("edge", 4), ("ink", 2))
        ]
    if stack.crossed:
        above: dict[str, Any] = cross(yOffset=-10)
        crosses = rows.transform_filter(f"datum.{stack.crossed}").transform_aggregate(
            groupby=[stack.along.column], total="sum(shown)"
        )
        layers.append(crosses.mark_point(**above).encode(x=x, y="total:Q"))
    note = " ".join(stack.sentences)
    return Chart(
        id=stack.id,
        title=stack.title,
        description=f"{note} {stack.told}",
        spec=finished(
            layers,
            (absolute.title, relative.title),
            note,
            panels=stack.panels,
            stages={row[stack.panel]: row["curve"] for row in stack.rows},
            legend=legend_of(names, colours),
        ),
    )
