"""Draw a declared plot on the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt

from pyscale.report.charts.chart import TEXT_PX, Chart, chosen, cross, dashes, finished, tooltips
from pyscale.report.palette import SHAPES, colour
from pyscale.report.plots.plot import ENDS, RANGE, Beside, Plot, Row, known_ends

LANE_PX, BESIDE_PX = 24, 40
LABEL_PX = 210
ROOM = 1.25
"""Factor by which an axis reaches beyond the marks: labels and marks need room."""
ASIDE_PX = 8
"""Between the marks of two series at one count, and between a median and its single trials."""
BASES = {"log": 10, "log2": 2}
# Of an axis over more than a factor of 4 only 1, 2, 3 and 5 times powers of ten have labels.
FEW_LABELS = (
    "domain('{0}')[1] < 4 * domain('{0}')[0] || indexof([1, 2, 3, 5], "
    "round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) >= 0 ? datum.label : ''"
)


def chart_of(plot: Plot) -> Chart:
    """Draw marks with intervals."""
    panels = _panels(plot)
    params = [alt.param(name="names", value=plot.names)]
    if not panels:
        # Marks of a stage that the reader does not choose are left out.
        params.append(alt.param(name="stages", value=plot.panels))
    chart = finished(
        plot,
        _Layers(plot).all(),
        (plot.value.title, plot.value.relative_title or plot.value.title),
        *params,
        panels=panels,
        legend=_legend(plot),
        wide=bool(panels and plot.lanes),
    )
    if plot.lanes:
        chart.spec["height"] = BESIDE_PX + LANE_PX * len(plot.lanes)
    return chart


def _panels(plot: Plot) -> list[str]:
    return [] if plot.is_together or len(plot.panels) == 1 else plot.panels


def _legend(plot: Plot) -> list[dict[str, str]] | None:
    """Series that no panel names, and what was measured elsewhere, where there are several."""
    entries = []
    for name, (hue, shape) in plot.looks.items():
        if name in plot.names and plot.names != _panels(plot):
            look = {"colour": colour(f"curve-{hue}"), "shape": SHAPES[shape]}
            entries.append({"name": name} | look)
    for row in plot.elsewhere:
        # Named where the other marks do not tell the shape of its series.
        alone = row[plot.series] if row[plot.series] in plot.only_elsewhere else None
        grey = {"name": f"{alone} ({row['title']})" if alone else row["title"]}
        grey |= {"colour": colour("reference"), "hollow": "yes"}
        grey |= {"shape": SHAPES[plot.looks[alone][1]]} if alone else {}
        entries += [grey] if grey not in entries else []
    return entries if len(entries) > 1 else None


@dataclass(frozen=True)
class _Layers:
    """Layers of a plot. Values lie across where names lie below each other."""

    plot: Plot

    def all(self) -> list[alt.Chart]:
        """What lies below comes first."""
        plot = self.plot
        rows = self.rows(plot.dataset, plot.rows)
        layers = [self.level(rows)] if plot.level else []
        layers += [layer for one in plot.beside if one.rows for layer in self.beside(one)]
        crossed = f"datum.{plot.crossed}"
        marked = rows.transform_filter(f"!{crossed}") if plot.crossed else rows
        if plot.front:
            layers += self.front(marked.transform_filter(f"datum.{plot.front}"))
        if plot.is_joined:
            line = marked.mark_line(strokeWidth=1.5, opacity=0.7, **self.aside)
            layers.append(line.encode(**self.at(), color=self.colour))
        layers += self.bars(marked)
        told = tooltips(plot.seen)
        # Hollow on lanes: two GPUs of one kind lie upon each other.
        mark: dict[str, Any] = {"filled": not plot.lanes, "size": 75, "opacity": 1}
        points = marked.mark_point(**mark, strokeWidth=2, **self.aside)
        layers.append(points.encode(**self.at(), color=self.colour, shape=self.shape, tooltip=told))
        if plot.ringed:
            ring: dict[str, Any] = {"filled": False, "size": 170, "opacity": 1, "strokeWidth": 1.5}
            rings = rows.transform_filter(f"datum.{plot.ringed}")
            layers.append(
                rings.mark_point(**ring, color=colour("ink")).encode(**self.at(), tooltip=told)
            )
        if plot.crossed:
            crosses = rows.transform_filter(crossed).mark_point(**cross(**self.aside))
            layers.append(crosses.encode(**self.at(), tooltip=told))
        return layers

    def bars(self, rows: alt.Chart) -> list[alt.Chart]:
        looks: dict[tuple[str, str], dict[str, Any]] = {
            RANGE: {"strokeWidth": 1},
            ENDS: {"strokeWidth": 2.5, "opacity": 0.55, "strokeCap": "round"},
        }
        return [
            rows.transform_filter(f"isValid(datum.{self.column}{ends[0]})")
            .mark_rule(**look, **self.aside)
            .encode(**self.between(*ends), color=self.colour)
            for ends, look in looks.items()
            if known_ends(self.plot.rows, self.plot.value.column, *ends)
        ]

    def beside(self, one: Beside) -> list[alt.Chart]:
        rows, told = self.rows(one.dataset, one.rows), tooltips(one.seen)
        has_ends = bool(known_ends(one.rows, self.plot.value.column, *ENDS))
        grey = colour("reference")
        match one.kind:
            case "ideal":
                line = rows.mark_line(color=colour("ideal"), **dashes())
                band = rows.mark_area(opacity=0.16, color=colour("single"))
                bands = [band.encode(**self.between(*ENDS))] if has_ends else []
                detail = [alt.Detail("curve:N"), alt.Detail("title:N")]
                return [*bands, line.encode(**self.at(), detail=detail)]
            case "law":
                band = rows.mark_area(opacity=0.15).encode(**self.between(*ENDS), tooltip=told)
                line = rows.mark_line(strokeWidth=1.3, strokeDash=[1.5, 2.5]).encode(**self.at())
                return [band.encode(color=self.colour), line.encode(color=self.colour)]
            case "single":
                small: dict[str, Any] = {"size": 22, "opacity": 0.7, "xOffset": -ASIDE_PX}
                dots = rows.mark_circle(color=colour("single"), **small)
                return [dots.encode(**self.at(), tooltip=told)]
            case "asked":
                ticks = rows.mark_tick(thickness=2, size=16, **self.aside)
                return [ticks.encode(**self.at(), color=self.colour)]
            case "elsewhere":
                line = rows.mark_line(color=grey, strokeWidth=1, strokeDash=[2, 3], **self.aside)
                bars = rows.mark_rule(color=grey, strokeWidth=1.2, **self.aside)
                hollow: dict[str, Any] = {"filled": False, "size": 50, "strokeWidth": 1.3}
                points = rows.mark_point(color=grey, **hollow, **self.aside)
                detail = [alt.Detail(f"{self.plot.series}:N"), alt.Detail("title:N")]
                return [
                    line.encode(**self.at(), detail=detail),
                    *([bars.encode(**self.between(*ENDS))] if has_ends else []),
                    points.encode(**self.at(), shape=self.shape, tooltip=told),
                ]

    def rows(self, dataset: str, rows: list[Row]) -> alt.Chart:
        """Rows of the panel whose value is known, by the amount that the reader has chosen."""
        own = "datum.curve == panel" if _panels(self.plot) else "indexof(stages, datum.curve) >= 0"
        chart: alt.Chart = alt.Chart(alt.NamedData(name=dataset)).transform_filter(own)
        absolute, relative = self.plot.value.column, self.plot.value.relative
        ends = known_ends(rows, absolute, *ENDS, *RANGE)
        for end in ("", *ends) if relative else ():
            shown = chosen(f"{absolute}{end}", f"{relative}{end}")
            chart = chart.transform_calculate(f"shown{end}", shown)
        return chart.transform_filter(f"isValid(datum.{self.column})")

    @property
    def column(self) -> str:
        """Column of the values, which is made where there are two amounts."""
        return "shown" if self.plot.value.relative else self.plot.value.column

    @property
    def across(self) -> str:
        return "x" if self.plot.lanes else "y"

    def at(self, end: str = "") -> dict[str, Any]:
        """Where a mark stands, by its value or by an end of the interval."""
        return {self.across: self.value(end), "y" if self.plot.lanes else "x": self.along}

    def between(self, low: str, high: str) -> dict[str, Any]:
        end = alt.X2 if self.plot.lanes else alt.Y2
        return self.at(low) | {f"{self.across}2": end(f"{self.column}{high}:Q")}

    def value(self, end: str) -> Any:
        """Axis of what was measured; the caption of the chart names it."""
        channel = alt.X if self.plot.lanes else alt.Y
        scale, axis = alt.Scale(zero=True, nice=True), alt.Axis(tickCount=5)
        if self.plot.value.scale in BASES:
            base = BASES[self.plot.value.scale]
            scale = alt.Scale(type="log", base=base, nice=False, padding=16)
            axis = alt.Axis(grid=True, tickCount=6)
            if base == 10:
                labels = FEW_LABELS.format(self.across)
                axis = alt.Axis(grid=True, tickCount=10, labelExpr=labels)
        return channel(f"{self.column}{end}:Q", title=None, scale=scale, axis=axis)

    @property
    def along(self) -> Any:
        """Axis of what was varied: names from above, counts that were measured, or from 0."""
        along = self.plot.along
        if self.plot.lanes:
            names = alt.Axis(grid=True, labelLimit=LABEL_PX, domain=False)
            return alt.Y(f"{along.column}:N", title=None, sort=self.plot.lanes, axis=names)
        places = self.plot.counts
        scale = alt.Scale(zero=True, nice=True, domainMax=ROOM * places[-1])
        axis = alt.Axis(tickCount=5)
        if along.kind == "counts":
            every = [*places, *(row[along.column] for row in self.plot.elsewhere)]
            domain = [min(every) / ROOM, max(every) * ROOM]
            scale = alt.Scale(type="log", base=2, domain=domain, nice=False, padding=2 * ASIDE_PX)
            axis = alt.Axis(values=places, format=".0f", labelOverlap="greedy")
        return alt.X(f"{along.column}:Q", title=along.title, scale=scale, axis=axis)

    @property
    def colour(self) -> alt.Color:
        hues = [colour(f"curve-{hue}") for hue, _ in self.plot.looks.values()]
        return alt.Color(**self.series(hues))

    @property
    def shape(self) -> alt.Shape:
        """A shape a series, for those who cannot tell the colours."""
        return alt.Shape(**self.series([SHAPES[shape] for _, shape in self.plot.looks.values()]))

    def series(self, looks: list[str]) -> dict[str, Any]:
        scale = alt.Scale(domain=list(self.plot.looks), range=looks)
        return {"shorthand": f"{self.plot.series}:N", "title": None, "scale": scale, "legend": None}

    def level(self, rows: alt.Chart) -> alt.Chart:
        once = rows.transform_filter(f"isValid(datum.{self.plot.level})").transform_aggregate(
            level=f"max({self.plot.level})"
        )
        rule = once.mark_rule(color=colour("ideal"), **dashes())
        at = alt.X if self.plot.lanes else alt.Y
        line: alt.Chart = rule.encode(**{self.across: at("level:Q")})
        return line

    @property
    def aside(self) -> dict[str, Any]:
        """Pixels beside the place of a mark."""
        if not self.plot.is_aside:
            return {}
        count = len(self.plot.names)
        # However many series there are, they take no more room than four.
        step, middle = min(ASIDE_PX, 4 * ASIDE_PX / count), (count - 1) / 2
        place = f"indexof(names, datum.{self.plot.series})"
        return {"xOffset": alt.expr(f"{step:g} * ({place} - {middle:g})")}

    def front(self, rows: alt.Chart) -> list[alt.Chart]:
        """A stepped line with labels; panels are too narrow for those."""
        # Between two points of the front lies nothing that was measured, and no promise of it.
        line = rows.mark_line(interpolate="step-before", strokeWidth=1.3, color=colour("quiet"))
        text = rows.mark_text(align="left", dx=8, dy=-8, color=colour("quiet"), fontSize=TEXT_PX)
        labels = (
            [text.encode(**self.at(), text=alt.Text("label:N"))]
            if len(self.plot.panels) == 1
            else []
        )
        order = alt.Order(f"{self.plot.along.column}:Q")
        return [line.encode(**self.at(), order=order), *labels]
