"""What a call consists of, against the size of an image, as stacked bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.report.charts.chart import Chart
from pyscale.report.charts.gridrows import panel_name, part_names
from pyscale.report.charts.look import colour
from pyscale.report.charts.losses import largest_parts
from pyscale.report.charts.points import Shown, finished, tooltips
from pyscale.report.grid.sweep import Sweep
from pyscale.report.grid.words import part
from pyscale.report.palette import CALL_PARTS

Row = dict[str, Any]
DATA = "call_parts"
SHOWN = Shown("part_s", "share", "Seconds of a call", "Share of a call")


def call_parts(found: Sequence[Sweep], rows: Sequence[Row]) -> Chart | None:
    """Parts of a call over size as stacked bars, a panel a line; None where none are known."""
    import altair as alt

    if not rows:
        return None
    panels = {panel_name(found, sweep, line): sweep.name for sweep in found for line in sweep.lines}
    seen_panels = [name for name in panels if any(row["panel"] == name for row in rows)]
    names = [name for name in part_names(found) if any(row["part"] == part(name) for row in rows)]
    colours = [_colour(name, part_names(found)) for name in names]
    scale = alt.Scale(domain=[part(name) for name in names], range=colours)
    of = [f"{length:.0f}" for length in sorted({row["length_px"] for row in rows})]
    seen = {
        "curve": "Stage",
        "size": "Size",
        "part": "Part",
        "took": "Took",
        "shared": "Share",
        "faster": "Times as fast",
    }
    bars = (
        alt.Chart(alt.NamedData(name=DATA))
        .transform_filter("datum.panel == panel")
        .transform_calculate("shown", "amount == 'relative' ? datum.share : datum.part_s")
        .mark_bar(stroke=colour("edge"), strokeWidth=0.5)
        .encode(
            x=alt.X(
                "of:O",
                title="Side of the image (px)",
                sort=of,
                axis=alt.Axis(labelAngle=0, labelOverlap="greedy"),
            ),
            y=alt.Y("shown:Q", title=None, axis=alt.Axis(tickCount=5), stack="zero"),
            color=alt.Color("part:N", scale=scale, legend=None),
            order=alt.Order("order:Q"),
            tooltip=tooltips(seen),
        )
    )
    told = largest_parts(rows, "panel", "length_px", lambda row: str(row["size"]))
    note = "One call, the median of each part; stacked from the axis in the order of the legend."
    return Chart(
        id="callparts",
        title="What a call consists of",
        description=f"{note} {told}",
        spec=finished(
            alt.layer(bars),
            SHOWN,
            note,
            panels=seen_panels,
            stages=panels,
            legend=[
                {"name": part(name), "colour": own}
                for name, own in zip(names, colours, strict=True)
            ],
        ),
    )


def _colour(name: str, names: Sequence[str]) -> str:
    """Colour of a part of a call, by its place among all."""
    if name == UNATTRIBUTED:
        return colour("part-unattributed")
    return colour(f"call-{names.index(name) % len(CALL_PARTS)}")
