"""The chart of loading patches: diversity against patches a second, and what is on the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.charts.chart import Chart
from pyscale.report.charts.loaderrows import lines_of, panels_of
from pyscale.report.charts.look import TEXT_PX, colour, curve_colours, curve_shapes, dashes
from pyscale.report.charts.points import Shown, finished, legend_of, tooltips
from pyscale.report.wording import listing

if TYPE_CHECKING:
    import altair as alt

Row = dict[str, Any]
LOADING = "loader_points"
"""Name of the dataset."""
LABEL_ROOM = 1.2
"""Times the most diverse configuration where the axis ends: its label needs room."""
SEEN = {
    "configuration": "Configuration",
    "line": "By",
    "curve": "Ranks",
    "rated": "Measured",
    "sure": "95 % interval",
    "diverse": "Diversity",
    "on_front": "On the front",
    "kept": "Keeps the diversity",
    "doubts": "Doubts",
}
SHOWN = Shown("rate", "rate", "Patches/s, all ranks in step", "Patches/s, all ranks in step", None)


def pareto(rows: Sequence[Row], labels_mean: str = "") -> Chart | None:
    """Draw every configuration by diversity and speed, a panel for each N; None without any."""
    import altair as alt

    if not rows:
        return None
    panels, lines = panels_of(list(rows)), lines_of(list(rows))
    several = panels if len(panels) > 1 else []
    drawn = alt.Chart(alt.NamedData(name=LOADING))
    if several:
        drawn = drawn.transform_filter("datum.curve == panel")
    colours = alt.Scale(domain=lines, range=curve_colours(len(lines)))
    shapes = alt.Scale(domain=lines, range=curve_shapes(len(lines)))
    tinted = alt.Color("line:N", title=None, scale=colours, legend=None)
    front = drawn.transform_filter("datum.front")
    # Panels are too narrow for labels; what is pointed at tells the same.
    labels = [] if several else [_labels(front, max(row["effective_slides"] for row in rows))]
    layers = [
        drawn.transform_filter("isValid(datum.consumed)")
        .transform_aggregate(consumed="max(consumed)")
        .mark_rule(color=colour("ideal"), **dashes())
        .encode(y="consumed:Q"),
        # Between two points of the front lies nothing that was measured, and no promise of it.
        front.mark_line(interpolate="step-before", strokeWidth=1.3, color=colour("quiet")).encode(
            x=_x(), y=_y(), order="effective_slides:Q"
        ),
        drawn.transform_filter("isValid(datum.rate_low)")
        .mark_rule(strokeWidth=2.5, opacity=0.55, strokeCap="round")
        .encode(x=_x(), y=_y("_low"), y2="rate_high:Q", color=tinted),
        drawn.mark_point(filled=True, opacity=1, size=75).encode(
            x=_x(),
            y=_y(),
            color=tinted,
            shape=alt.Shape("line:N", title=None, scale=shapes, legend=None),
            tooltip=tooltips(SEEN),
        ),
        *labels,
    ]
    known = [row for row in rows if row["consumed"] is not None]
    dashed = " Dashed: what training takes." if known else ""
    meaning = f" {labels_mean}" if labels_mean and labels else ""
    note = (
        "Medians over trials. To the right patches are more diverse, above there are more of them. "
        "The stepped line joins the front: nothing that was measured is faster and more diverse. "
        f"Bars: 95 % intervals; none where fewer than {repeats_needed()} trials were timed.{dashed}"
        f"{meaning}"
    )
    told = " ".join(
        f"{panel}: on the front {listing(_told(row) for row in rows if _is_on(row, panel))}."
        for panel in panels
    )
    return Chart(
        id="loaderpareto",
        title="Diversity against speed",
        description=f"{note} {told}",
        spec=finished(
            alt.layer(*layers),
            SHOWN,
            note,
            panels=several,
            legend=legend_of(lines, curve_colours(len(lines)), curve_shapes(len(lines)))
            if len(lines) > 1
            else None,
        ),
    )


def _labels(front: alt.Chart, most: float) -> alt.Chart:
    text = front.mark_text(align="left", dx=8, dy=-8, color=colour("quiet"), fontSize=TEXT_PX)
    drawn: alt.Chart = text.encode(x=_x(LABEL_ROOM * most), y=_y(), text="label:N")
    return drawn


def _x(most: float | None = None) -> alt.X:
    """Return the axis of diversity from 0, up to `most` where that is told."""
    import altair as alt

    end = alt.Undefined if most is None else most
    return alt.X(
        "effective_slides:Q",
        title="Effective slides of all ranks",
        scale=alt.Scale(zero=True, nice=True, domainMax=end),
        axis=alt.Axis(tickCount=5),
    )


def _y(end: str = "") -> alt.Y:
    import altair as alt

    scale, axis = alt.Scale(zero=True, nice=True), alt.Axis(tickCount=5)
    return alt.Y(f"rate{end}:Q", title=None, scale=scale, axis=axis)


def _is_on(row: Row, panel: str) -> bool:
    return bool(row["front"]) and row["curve"] == panel


def _told(row: Row) -> str:
    return f"{row['configuration']} with {row['rated']} and {row['diverse']}"
