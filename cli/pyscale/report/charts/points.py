"""Charts of configurations as points over the number of workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.charts.look import (
    AUTOSIZE,
    colour,
    config,
    cross,
    curve_colours,
    curve_shapes,
    dashes,
)

if TYPE_CHECKING:
    import altair as alt

CONFIGURATIONS, IDEAL, REFERENCES, TRIALS = "configurations", "ideal", "references", "trials"
LAWS = "laws"
BARS = f"Bars: 95 % intervals; none where fewer than {repeats_needed()} trials were timed."
RANGES = f"Thin bars: shortest to longest of fewer than {repeats_needed()} trials."
CROSSES = (
    "Cross: invalid, its output is not the baseline's, and a ratio would compare two different "
    "results."
)
HEIGHT_PX, PANEL_HEIGHT_PX = 200, 140
ASIDE_PX = 8
"""Between the points of two curves at one N, and between a median and its single trials."""

# Of an axis over more than a factor of 4 only 1, 2, 3 and 5 times powers of ten have labels.
_FEW_LABELS = (
    "domain('y')[1] < 4 * domain('y')[0] || indexof([1, 2, 3, 5], "
    "round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) >= 0 ? datum.label : ''"
)


@dataclass(frozen=True)
class Shown:
    """What the y axis shows: as it is, or relative to something.

    Attributes
    ----------
    absolute, relative : str
        Columns of the dataset; with `_low`, `_high` and `_ideal` where there are such.
    title, relative_title : str
        What they are, with units.
    base : int or None
        Of the logarithm, where ratios count, so that the axis may be logarithmic.
    """

    absolute: str
    relative: str
    title: str
    relative_title: str
    base: int | None = 10


@dataclass(frozen=True)
class Points:
    """Layers of one chart of points; each draws rows of one dataset.

    Attributes
    ----------
    shown : Shown
    names : sequence of str
        Curves, in order.
    counts : sequence of int
        Numbers of workers on the axis.
    tooltip : mapping of str to str
        Columns that the reader sees when pointing at a configuration, and what they are.
    panels : sequence of str
        Curves, where each has a panel of its own.
    """

    shown: Shown
    names: Sequence[str]
    counts: Sequence[int]
    tooltip: Mapping[str, str]
    panels: Sequence[str] = ()

    def rows(self, dataset: str, *ends: str) -> alt.Chart:
        """Rows of chosen curves, with the columns `shown…` by what the reader has chosen."""
        import altair as alt

        chosen = "datum.curve == panel" if self.panels else "indexof(stages, datum.curve) >= 0"
        chart: alt.Chart = alt.Chart(alt.NamedData(name=dataset)).transform_filter(chosen)
        for end in ("", *ends):
            relative, absolute = f"{self.shown.relative}{end}", f"{self.shown.absolute}{end}"
            chosen = f"amount == 'relative' ? datum.{relative} : datum.{absolute}"
            chart = chart.transform_calculate(f"shown{end}", chosen)
        return chart

    def y(self, column: str = "shown") -> alt.Y:
        """The y axis; the caption of the chart names it."""
        import altair as alt

        if self.shown.base is None:
            scale, axis = alt.Scale(zero=True), alt.Axis(tickCount=5)
        else:
            scale = alt.Scale(type="log", base=self.shown.base, nice=False, padding=16)
            axis = alt.Axis(tickCount=6)
            if self.shown.base == 10:
                axis = alt.Axis(tickCount=10, labelExpr=_FEW_LABELS)
        return alt.Y(f"{column}:Q", title=None, scale=scale, axis=axis)

    @property
    def x(self) -> alt.X:
        """Numbers of workers, with a tick at each that was measured."""
        import altair as alt

        low, high = min(self.counts), max(self.counts)
        domain = [low / 1.25, high * 1.25]
        scale = alt.Scale(type="log", base=2, domain=domain, nice=False, padding=2 * ASIDE_PX)
        axis = alt.Axis(values=sorted(set(self.counts)), format="d", labelOverlap="greedy")
        return alt.X("workers:Q", title="Workers N", scale=scale, axis=axis)

    @property
    def aside(self) -> Any:
        """Pixels beside the number of workers, so that no curve hides another."""
        import altair as alt

        if self.panels:
            return 0
        step = min(ASIDE_PX, 4 * ASIDE_PX / len(self.names))
        middle = (len(self.names) - 1) / 2
        return alt.expr(f"{step:g} * (indexof(names, datum.curve) - {middle:g})")

    @property
    def colour(self) -> alt.Color:
        """A colour a curve, the same in every chart."""
        import altair as alt

        scale = alt.Scale(domain=list(self.names), range=curve_colours(len(self.names)))
        return alt.Color("curve:N", title=None, scale=scale, legend=None)

    @property
    def shape(self) -> alt.Shape:
        """A shape a curve, for those who cannot tell the colours."""
        import altair as alt

        scale = alt.Scale(domain=list(self.names), range=curve_shapes(len(self.names)))
        return alt.Shape("curve:N", title=None, scale=scale, legend=None)

    def ideal(self, dataset: str = IDEAL, *, coloured: bool = False) -> alt.Chart:
        """Dashed lines of what perfect scaling of the baseline would give."""
        lines = self.rows(dataset, "_ideal").transform_filter("isValid(datum.shown_ideal)")
        if coloured:
            drawn = lines.mark_line(**dashes()).encode(color=self.colour)
        else:
            drawn = lines.mark_line(color=colour("ideal"), **dashes()).encode(detail="curve:N")
        line: alt.Chart = drawn.encode(x=self.x, y=self.y("shown_ideal"))
        return line

    def configurations(self, *, invalid: bool) -> list[alt.Chart]:
        """Joined medians, their intervals or ranges, and crosses where some are invalid."""
        place = {"xOffset": self.aside}
        ends = ("_low", "_high", "_min", "_max")
        rows = self.rows(CONFIGURATIONS, *ends).transform_filter("isValid(datum.shown)")
        valid = rows.transform_filter("!datum.invalid")
        tooltip = tooltips(self.tooltip)
        layers = [
            valid.mark_line(strokeWidth=1.5, opacity=0.7, **place).encode(
                x=self.x, y=self.y(), color=self.colour
            ),
            valid.transform_filter("!isValid(datum.shown_low) && isValid(datum.shown_min)")
            .mark_rule(strokeWidth=1, **place)
            .encode(x=self.x, y=self.y("shown_min"), y2="shown_max:Q", color=self.colour),
            valid.transform_filter("isValid(datum.shown_low)")
            .mark_rule(strokeWidth=2.5, opacity=0.55, strokeCap="round", **place)
            .encode(x=self.x, y=self.y("shown_low"), y2="shown_high:Q", color=self.colour),
            valid.mark_point(filled=True, opacity=1, size=75, **place).encode(
                x=self.x, y=self.y(), color=self.colour, shape=self.shape, tooltip=tooltip
            ),
        ]
        if not invalid:
            return layers
        return [
            *layers,
            rows.transform_filter("datum.invalid")
            .mark_point(**cross(**place))
            .encode(x=self.x, y=self.y(), tooltip=tooltip),
        ]

    def laws(self) -> list[alt.Chart]:
        """Fitted laws, dotted, in their bands."""
        rows = self.rows(LAWS, "_low", "_high").transform_filter("isValid(datum.shown)")
        seen = tooltips({"curve": "Stage", "law": "Law", "sure": "Band"})
        return [
            rows.mark_area(opacity=0.14).encode(
                x=self.x,
                y=self.y("shown_low"),
                y2="shown_high:Q",
                color=self.colour,
                tooltip=seen,
            ),
            rows.mark_line(strokeWidth=1.2, strokeDash=[1.5, 2.5]).encode(
                x=self.x, y=self.y(), color=self.colour
            ),
        ]

    def spec(
        self, layers: Sequence[alt.Chart], note: str, others: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Vega-Lite of all layers; `others` are whose hollow grey marks there are."""
        import altair as alt

        params = [alt.param(name="names", value=list(self.names))]
        if not self.panels:
            params.append(alt.param(name="stages", value=list(self.names)))
        is_told = list(self.panels) == list(self.names) or len(self.names) + len(others) == 1
        own = [] if is_told else self.names
        looks = curve_colours(len(self.names)), curve_shapes(len(self.names))
        grey = [{"name": one, "colour": colour("reference"), "hollow": "yes"} for one in others]
        return finished(
            alt.layer(*layers),
            self.shown,
            note,
            panels=self.panels,
            params=params,
            legend=[*(legend_of(own, *looks) if own else []), *grey] or None,
        )


def legend_of(
    names: Sequence[str], colours: Sequence[str], shapes: Sequence[str] = ()
) -> list[dict[str, str]]:
    """Entries of the legend above a chart, whose names are as long as they are."""
    entries = [{"name": one, "colour": own} for one, own in zip(names, colours, strict=True)]
    if not shapes:
        return entries
    return [entry | {"shape": own} for entry, own in zip(entries, shapes, strict=True)]


def finished(
    chart: Any,
    shown: Shown,
    note: str,
    *,
    panels: Sequence[str] = (),
    params: Sequence[Any] = (),
    **meta: Any,
) -> dict[str, Any]:
    """Vega-Lite of a chart, with what all charts of the page have."""
    import altair as alt

    own = [alt.param(name="amount", value="absolute"), *params]
    if panels:
        own.append(alt.param(name="panel", value=""))
    sized = chart.properties(
        width="container",
        height=PANEL_HEIGHT_PX if panels else HEIGHT_PX,
    ).add_params(*own)
    spec: dict[str, Any] = sized.to_dict(validate=False)
    spec |= {
        "autosize": AUTOSIZE,
        "config": config(),
        "usermeta": {
            "note": note,
            "panels": list(panels),
            "titles": {"absolute": shown.title, "relative": shown.relative_title},
            **meta,
        },
    }
    return spec


def tooltips(columns: Mapping[str, str]) -> list[Any]:
    """What a reader sees when pointing at a mark: texts of the dataset, and what they are."""
    import altair as alt

    return [alt.Tooltip(f"{column}:N", title=title) for column, title in columns.items()]
