"""Draw a declared plot on the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyscale.report.charts.chart import Chart
from pyscale.report.charts.look import TEXT_PX, colour, curve_colours, curve_shapes, dashes
from pyscale.report.charts.points import ASIDE_PX, Shown, finished, legend_of, tooltips
from pyscale.report.plots.plot import Plot

if TYPE_CHECKING:
    import altair as alt

LANE_PX, BESIDE_PX = 24, 40
LABEL_PX = 210
ROOM = 1.2
"""Factor by which an axis reaches beyond the marks: labels and marks need room."""
BASES = {"log": 10, "log2": 2}


def chart_of(plot: Plot) -> Chart | None:
    """Draw marks with intervals; None without rows."""
    import altair as alt

    if not plot.rows:
        return None
    note = " ".join(plot.sentences)
    several = plot.panels if len(plot.panels) > 1 else []
    spec = finished(
        alt.layer(*_Layers(plot).all()),
        Shown(plot.value.column, plot.value.column, plot.value.title, plot.value.title),
        note,
        panels=several,
        wide=bool(several and plot.lanes),
        legend=legend_of(plot.names, *_looks(plot)) if len(plot.names) > 1 else None,
    )
    if plot.lanes:
        spec["height"] = BESIDE_PX + LANE_PX * len(plot.lanes)
    return Chart(id=plot.id, title=plot.title, description=f"{note} {plot.told}", spec=spec)


def _looks(plot: Plot) -> tuple[list[str], list[str]]:
    """Colours and shapes of the series that occur, each by its place among all."""
    places = [plot.known.index(name) for name in plot.names]
    looks = curve_colours(len(plot.known)), curve_shapes(len(plot.known))
    return [looks[0][place] for place in places], [looks[1][place] for place in places]


@dataclass(frozen=True)
class _Layers:
    """Layers of a plot. Values lie across where names lie below each other."""

    plot: Plot

    def all(self) -> list[alt.Chart]:
        """What lies below comes first."""
        rows, low = self.rows(), f"{self.plot.value.column}_low"
        high = {f"{self.across}2": f"{self.plot.value.column}_high:Q"}
        layers = [self.level(rows)] if self.plot.level else []
        if self.plot.ideal:
            layers.append(self.ideal(rows))
        if self.plot.front:
            layers += self.front(rows.transform_filter(f"datum.{self.plot.front}"))
        if self.plot.is_joined:
            layers.append(rows.mark_line(strokeWidth=1.5).encode(**self.at(), color=self.colour))
        if self.plot.value.has_bars:
            layers.append(
                rows.transform_filter(f"isValid(datum.{low})")
                .mark_rule(strokeWidth=2.5, opacity=0.55, strokeCap="round", **self.aside)
                .encode(**self.at("_low"), **high, color=self.colour)
            )
        told = tooltips(self.plot.seen)
        # Hollow on lanes: two GPUs of one kind lie upon each other.
        mark: dict[str, Any] = {"filled": not self.plot.lanes, "size": 75, "opacity": 1}
        layers.append(
            rows.mark_point(**mark, strokeWidth=2, **self.aside).encode(
                **self.at(), color=self.colour, shape=self.shape, tooltip=told
            )
        )
        if self.plot.ringed:
            ring: dict[str, Any] = {"filled": False, "size": 170, "opacity": 1, "strokeWidth": 1.5}
            layers.append(
                rows.transform_filter(f"datum.{self.plot.ringed}")
                .mark_point(**ring, color=colour("ink"))
                .encode(**self.at(), tooltip=told)
            )
        return layers

    def rows(self) -> alt.Chart:
        """Rows of the panel."""
        import altair as alt

        chart: alt.Chart = alt.Chart(alt.NamedData(name=self.plot.dataset))
        is_one = len(self.plot.panels) == 1
        return chart if is_one else chart.transform_filter("datum.curve == panel")

    @property
    def across(self) -> str:
        """Channel of the values."""
        return "x" if self.plot.lanes else "y"

    def at(self, end: str = "") -> dict[str, Any]:
        """Where a mark stands, by its value or by an end of the interval."""
        return {self.across: self.value(end), "y" if self.plot.lanes else "x": self.along}

    def value(self, end: str) -> Any:
        """Axis of what was measured; the caption of the chart names it."""
        import altair as alt

        channel = alt.X if self.plot.lanes else alt.Y
        scale, axis = alt.Scale(zero=True, nice=True), alt.Axis(tickCount=5)
        if self.plot.value.scale in BASES:
            base = BASES[self.plot.value.scale]
            scale = alt.Scale(type="log", base=base, nice=False, padding=16)
            axis = alt.Axis(grid=True, tickCount=6, format="~g")
        return channel(f"{self.plot.value.column}{end}:Q", title=None, scale=scale, axis=axis)

    @property
    def along(self) -> Any:
        """Axis of what was varied: names from above, counts that were measured, or from 0."""
        import altair as alt

        along = self.plot.along
        if self.plot.lanes:
            names = alt.Axis(grid=True, labelLimit=LABEL_PX, domain=False)
            return alt.Y(f"{along.column}:N", title=None, sort=self.plot.lanes, axis=names)
        places = sorted({row[along.column] for row in self.plot.rows})
        scale = alt.Scale(zero=True, nice=True, domainMax=ROOM * places[-1])
        axis = alt.Axis(tickCount=5)
        if along.kind == "counts":
            domain = [places[0] / ROOM, places[-1] * ROOM]
            scale = alt.Scale(type="log", base=2, domain=domain, nice=False)
            axis = alt.Axis(values=places, format=".0f", labelOverlap="greedy")
        return alt.X(f"{along.column}:Q", title=along.title, scale=scale, axis=axis)

    @property
    def colour(self) -> alt.Color:
        """A colour a series."""
        import altair as alt

        scale = alt.Scale(domain=self.plot.names, range=_looks(self.plot)[0])
        return alt.Color(f"{self.plot.series}:N", title=None, scale=scale, legend=None)

    @property
    def shape(self) -> alt.Shape:
        """A shape a series, for those who cannot tell the colours."""
        import altair as alt

        scale = alt.Scale(domain=self.plot.names, range=_looks(self.plot)[1])
        return alt.Shape(f"{self.plot.series}:N", title=None, scale=scale, legend=None)

    def level(self, rows: alt.Chart) -> alt.Chart:
        """A dashed line across, once."""
        once = rows.transform_filter(f"isValid(datum.{self.plot.level})").transform_aggregate(
            level=f"max({self.plot.level})"
        )
        rule = once.mark_rule(color=colour("ideal"), **dashes())
        line: alt.Chart = rule.encode(**{self.across: "level:Q"})
        return line

    @property
    def aside(self) -> dict[str, Any]:
        """Pixels beside the place of a mark."""
        import altair as alt

        if not self.plot.aside:
            return {}
        return {"xOffset": alt.expr(f"{ASIDE_PX} * datum.{self.plot.aside}")}

    def ideal(self, rows: alt.Chart) -> alt.Chart:
        """A dashed line through what would be ideal at each count."""
        along, column = self.plot.along.column, self.plot.value.column
        ideal: dict[str, Any] = {column: f"max({self.plot.ideal})"}
        once = rows.transform_aggregate(groupby=[along], **ideal)
        line: alt.Chart = once.mark_line(color=colour("ideal"), **dashes()).encode(**self.at())
        return line

    def front(self, rows: alt.Chart) -> list[alt.Chart]:
        """A stepped line with labels; panels are too narrow for those."""
        # Between two points of the front lies nothing that was measured, and no promise of it.
        line = rows.mark_line(interpolate="step-before", strokeWidth=1.3, color=colour("quiet"))
        text = rows.mark_text(align="left", dx=8, dy=-8, color=colour("quiet"), fontSize=TEXT_PX)
        labels = [text.encode(**self.at(), text="label:N")] if len(self.plot.panels) == 1 else []
        return [line.encode(**self.at(), order=f"{self.plot.along.column}:Q"), *labels]
