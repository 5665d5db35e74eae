"""Draw a declared plot on the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyscale.report.charts.chart import Chart
from pyscale.report.charts.look import TEXT_PX, colour, curve_colours, curve_shapes, dashes
from pyscale.report.charts.points import ASIDE_PX, Shown, finished, legend_of, tooltips
from pyscale.report.plots.plot import Beside, Plot

if TYPE_CHECKING:
    import altair as alt

LANE_PX, BESIDE_PX = 24, 40
LABEL_PX = 210
ROOM = 1.2
"""Factor by which an axis reaches beyond the marks: labels and marks need room."""
DASHES = ([5.0, 4], [2.0, 2], [7, 3, 1.5, 3], [9.0, 2], [1.5, 4], [7, 2, 1.5, 2, 1.5, 2])
"""Of lines of other machines."""
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
        Shown(
            plot.value.column,
            plot.value.relative or plot.value.column,
            plot.value.title,
            plot.value.relative_title or plot.value.title,
        ),
        note,
        panels=several,
        wide=bool(several and plot.lanes),
        # Marks of a stage that the reader does not choose are left out.
        params=[] if several else [alt.param(name="stages", value=plot.panels)],
        legend=_legend(plot),
    )
    if plot.lanes:
        spec["height"] = BESIDE_PX + LANE_PX * len(plot.lanes)
    return Chart(id=plot.id, title=plot.title, description=f"{note} {plot.told}", spec=spec)


def _legend(plot: Plot) -> list[dict[str, str]] | None:
    """Series and what was measured elsewhere, where there are several."""
    titles = {row[plot.series]: row["title"] for row in plot.others.rows} if plot.others else {}
    entries = legend_of(plot.names, *_looks(plot))
    for (name, title), dash in zip(titles.items(), _dashes(len(titles)), strict=True):
        grey = {"colour": colour("reference"), "dash": " ".join(map(str, dash))}
        entries.append({"name": f"{name} ({title})", **grey})
    return entries if len(entries) > 1 else None


def _dashes(count: int) -> list[list[float]]:
    return [DASHES[place % len(DASHES)] for place in range(count)]


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
        rows, low = self.rows(self.plot.dataset), f"{self.column}_low"
        high = {f"{self.across}2": f"{self.column}_high:Q"}
        layers = [self.level(rows)] if self.plot.level else []
        if self.plot.ends:
            layers += self.ends(self.plot.ends)
        if self.plot.others:
            layers += self.others(self.plot.others)
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

    def rows(self, dataset: str) -> alt.Chart:
        """Rows of the panel, by the amount that the reader has chosen."""
        import altair as alt

        chosen = "indexof(stages, datum.curve) >= 0"
        if len(self.plot.panels) > 1:
            chosen = "datum.curve == panel"
        chart: alt.Chart = alt.Chart(alt.NamedData(name=dataset)).transform_filter(chosen)
        absolute, relative = self.plot.value.column, self.plot.value.relative
        for end in ("", "_low", "_high") if relative else ():
            shown = f"amount == 'relative' ? datum.{relative}{end} : datum.{absolute}{end}"
            chart = chart.transform_calculate(f"shown{end}", shown)
        return chart

    @property
    def column(self) -> str:
        """Column of the values, which is made where there are two amounts."""
        return "shown" if self.plot.value.relative else self.plot.value.column

    def ends(self, ends: Beside) -> list[alt.Chart]:
        """Lines with bands."""
        rows, told = self.rows(ends.dataset), tooltips(ends.seen)
        x = self.along
        x.shorthand = "from:Q"
        over = {"x": x, "x2": "to:Q", "color": self.colour, "tooltip": told}
        return [
            rows.mark_rect(opacity=0.16).encode(**over, y="low:Q", y2="high:Q"),
            rows.mark_rule(strokeWidth=1.5).encode(**over, y="ceiling:Q"),
        ]

    def others(self, others: Beside) -> list[alt.Chart]:
        """Grey broken lines, told apart by their dashes."""
        import altair as alt

        rows = self.rows(others.dataset).transform_filter(f"isValid(datum.{self.column})")
        names = list(dict.fromkeys(row[self.plot.series] for row in others.rows))
        scale = alt.Scale(domain=names, range=_dashes(len(names)))
        dash = alt.StrokeDash(f"{self.plot.series}:N", title=None, scale=scale, legend=None)
        grey = colour("reference")
        return [
            rows.mark_line(color=grey, strokeWidth=1.3).encode(**self.at(), strokeDash=dash),
            rows.mark_point(filled=False, size=28, strokeWidth=1.2, color=grey).encode(
                **self.at(), tooltip=tooltips(others.seen)
            ),
        ]

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
        return channel(f"{self.column}{end}:Q", title=None, scale=scale, axis=axis)

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
            elsewhere = self.plot.others.rows if self.plot.others else []
            every = [*places, *(row[along.column] for row in elsewhere)]
            domain = [min(every) / ROOM, max(every) * ROOM]
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
        along = self.plot.along.column
        ideal: dict[str, Any] = {self.column: f"max({self.plot.ideal})"}
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
