"""Charts of marks with intervals, and of stacked bars, from columns of a table."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import altair as alt

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.machine.findings import FAST, SLOW
from pyscale.report.charts.chart import (
    Chart,
    Row,
    chosen,
    cross,
    dashes,
    finished,
    legend_of,
    telling,
)
from pyscale.report.palette import SHAPES, colour

LANE_PX, BESIDE_PX, LABEL_PX = 24, 40, 210
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


@dataclass(frozen=True, kw_only=True)
class Marks:
    """A mark a row, by series in colour and shape, a panel a value of `curve`."""

    id: str
    title: str
    note: str
    """How to read it."""
    axis: Sequence[str]
    """What the values are, absolute and perhaps relative, as the caption says it."""
    table: str
    """Whose columns these are, in the dictionary."""
    rows: Sequence[Row]
    seen: Sequence[str]
    """Columns that are told of a mark that is pointed at."""
    value: str
    relative: str = ""
    """Column that is shown instead, if the reader asks."""
    scale: Literal["log", "log2", "linear"] = "log"
    along: str = "workers"
    along_title: str = "Workers N"
    kind: Literal["counts", "names", "linear"] = "counts"
    """Counts are logarithmic, with a tick at each; names lie below each other."""
    series: str = "curve"
    known: Sequence[str] = ()
    """Its values in order, so that each keeps its look; else as in rows."""
    elsewhere: Sequence[Row] = ()
    """What others measured: hollow and grey, with the `title` of its source."""
    dataset: str = ""
    is_joined: bool = False
    is_together: bool = False
    """All panels lie upon each other."""
    is_aside: bool = False
    """Series stand side by side, so that no mark hides another."""

    def chart(
        self, below: Sequence[alt.Chart] = (), above: Sequence[alt.Chart] = (), **data: Any
    ) -> Chart | None:
        """Draw the marks between other layers; None without any."""
        if not self.drawn:
            return None
        params = [alt.param(name="names", value=self.names)]
        if not self.panels:
            # Marks of a stage that the reader does not choose are left out.
            params.append(alt.param(name="stages", value=each(self.drawn, "curve")))
        others = self.others()
        return finished(
            self.id,
            self.title,
            self.note,
            [*below, *others, *self.marks(), *above],
            (self.axis[0], self.axis[-1]),
            *params,
            panels=self.panels,
            data={self.data: self.rows, **data}
            | ({f"{self.id}_elsewhere": self.elsewhere} if others else {}),
            height_px=BESIDE_PX + LANE_PX * len(self.lanes) if self.lanes else 0,
            legend=self.legend(),
            wide=bool(self.panels and self.lanes),
        )

    @property
    def data(self) -> str:
        """Name of the dataset."""
        return self.dataset or self.id

    @property
    def drawn(self) -> list[Row]:
        """Rows whose value is known."""
        return [row for row in self.rows if row.get(self.value) is not None]

    @property
    def panels(self) -> list[str]:
        """Names of panels, where there are several."""
        found = each(self.drawn, "curve")
        return [] if self.is_together or len(found) == 1 else found

    @property
    def names(self) -> list[str]:
        """Series that occur, in order."""
        found = each(self.drawn, self.series)
        return [name for name in self.known or found if name in found]

    @property
    def lanes(self) -> list[str]:
        """Names that the marks lie beside, from above."""
        return each(self.rows, self.along) if self.kind == "names" else []

    def legend(self) -> list[dict[str, str]] | None:
        """Series that no panel names, and what was measured elsewhere, where there are several."""
        entries = [
            {"name": name, "colour": colour(f"curve-{hue}"), "shape": SHAPES[shape]}
            for name, (hue, shape) in self.looks().items()
            if name in self.names and self.names != self.panels
        ]
        grey = {"colour": colour("reference"), "hollow": "yes"}
        entries += [{"name": title} | grey for title in each(self.elsewhere, "title")]
        return entries if len(entries) > 1 else None

    def looks(self) -> dict[str, tuple[int, int]]:
        """Places of colour and shape; a colour that comes again comes with another shape."""
        most = len(SHAPES)
        every = self.known or self.names
        return {name: (at % most, (at + at // most) % most) for at, name in enumerate(every)}

    def on(self, dataset: str, *ends: str) -> alt.Chart:
        """Rows of the panel whose value is known, by the amount that the reader has chosen."""
        own = "datum.curve == panel" if self.panels else "indexof(stages, datum.curve) >= 0"
        chart: alt.Chart = alt.Chart(alt.NamedData(name=dataset)).transform_filter(own)
        for end in ("", *ends):
            relative = self.relative and f"datum.{self.relative}{end}"
            shown = chosen(f"datum.{self.value}{end}", relative)
            chart = chart.transform_calculate(f"shown{end}", shown)
        return chart.transform_filter("isValid(datum.shown)")

    def marks(self) -> list[alt.Chart]:
        """Lines, intervals, points and crosses."""
        rows, told = telling(self.on(self.data), self.table, self.rows, self.seen)
        has_crosses = any(row.get("invalid") for row in self.drawn)
        marked = rows.transform_filter("!datum.invalid") if has_crosses else rows
        layers = []
        if self.is_joined:
            line = marked.mark_line(strokeWidth=1.5, opacity=0.7, **self.aside)
            layers.append(line.encode(**self.at(), color=self.colour))
        if any(row.get(f"{self.value}_low") is not None for row in self.rows):
            known = self.on(self.data, "_low", "_high").transform_filter(
                "isValid(datum.shown_low) && !datum.invalid"
            )
            look: dict[str, Any] = {"strokeWidth": 2.5, "opacity": 0.55, "strokeCap": "round"}
            rule = known.mark_rule(**look, **self.aside)
            layers.append(rule.encode(**self.between("_low", "_high"), color=self.colour))
        # Hollow on lanes: two GPUs of one kind lie upon each other.
        mark: dict[str, Any] = {"filled": not self.lanes, "size": 75, "opacity": 1}
        points = marked.mark_point(**mark, strokeWidth=2, **self.aside)
        layers.append(points.encode(**self.at(), color=self.colour, shape=self.shape, tooltip=told))
        if has_crosses:
            crosses = rows.transform_filter("datum.invalid").mark_point(**cross(**self.aside))
            layers.append(crosses.encode(**self.at(), tooltip=told))
        return layers

    def others(self) -> list[alt.Chart]:
        """What was measured elsewhere."""
        if not any(row.get(self.value) is not None for row in self.elsewhere):
            return []
        grey, name = colour("reference"), f"{self.id}_elsewhere"
        seen = ("title", "line", *self.seen, "source")
        rows, told = telling(self.on(name), self.table, self.elsewhere, seen)
        line = rows.mark_line(color=grey, strokeWidth=1, strokeDash=[2, 3], **self.aside)
        hollow: dict[str, Any] = {"filled": False, "size": 50, "strokeWidth": 1.3}
        points = rows.mark_point(color=grey, **hollow, **self.aside)
        detail = [alt.Detail(f"{self.series}:N"), alt.Detail("title:N")]
        return [line.encode(**self.at(), detail=detail), points.encode(**self.at(), tooltip=told)]

    def level(self, expression: str, dataset: str = "") -> alt.Chart:
        """A dashed line along the marks at what an expression says of each row, as if ideal."""
        rows = self.on(dataset or self.data).transform_calculate("level", expression)
        line = rows.mark_line(color=colour("ideal"), interpolate="monotone", **dashes())
        found: alt.Chart = line.encode(**self.at(column="level"), detail=[alt.Detail("curve:N")])
        return found

    def across(self, expression: str) -> alt.Chart:
        """A dashed line through all of a panel."""
        rows = self.on(self.data).transform_calculate("level", expression)
        once = rows.transform_filter("isValid(datum.level)").transform_aggregate(level="max(level)")
        at = (alt.X if self.lanes else alt.Y)("level:Q")
        rule: alt.Chart = once.mark_rule(color=colour("ideal"), **dashes()).encode(
            **{"x" if self.lanes else "y": at}
        )
        return rule

    def law(self, dataset: str) -> list[alt.Chart]:
        """Dotted lines of a dataset in their bands."""
        rows = self.on(dataset, "_low", "_high")
        band = rows.mark_area(opacity=0.15).encode(**self.between("_low", "_high"))
        line = rows.mark_line(strokeWidth=1.3, strokeDash=[1.5, 2.5]).encode(**self.at())
        return [band.encode(color=self.colour), line.encode(color=self.colour)]

    def at(self, end: str = "", column: str = "shown") -> dict[str, Any]:
        """Where a mark stands, by its value or by an end of the interval."""
        value, along = ("x", "y") if self.lanes else ("y", "x")
        return {value: self._value(f"{column}{end}"), along: self._along}

    def between(self, low: str, high: str) -> dict[str, Any]:
        """Where a bar stands."""
        value, end = ("x2", alt.X2) if self.lanes else ("y2", alt.Y2)
        return self.at(low) | {value: end(f"shown{high}:Q")}

    def _value(self, column: str) -> Any:
        """Axis of what was measured; the caption of the chart names it."""
        channel = alt.X if self.lanes else alt.Y
        scale, axis = alt.Scale(zero=True, nice=True), alt.Axis(tickCount=5)
        if self.scale in BASES:
            base = BASES[self.scale]
            scale = alt.Scale(type="log", base=base, nice=False, padding=16)
            axis = alt.Axis(grid=True, tickCount=6)
            if base == 10:
                labels = FEW_LABELS.format("x" if self.lanes else "y")
                axis = alt.Axis(grid=True, tickCount=10, labelExpr=labels)
        return channel(f"{column}:Q", title=None, scale=scale, axis=axis)

    @property
    def _along(self) -> Any:
        """Axis of what was varied: names from above, counts that were measured, or from 0."""
        if self.lanes:
            names = alt.Axis(grid=True, labelLimit=LABEL_PX, domain=False)
            return alt.Y(f"{self.along}:N", title=None, sort=self.lanes, axis=names)
        places = sorted({row[self.along] for row in self.rows}) or [1]
        scale = alt.Scale(zero=True, nice=True, domainMax=ROOM * places[-1])
        axis = alt.Axis(tickCount=5)
        if self.kind == "counts":
            every = [*places, *(row[self.along] for row in self.elsewhere)]
            domain = [min(every) / ROOM, max(every) * ROOM]
            scale = alt.Scale(type="log", base=2, domain=domain, nice=False, padding=2 * ASIDE_PX)
            axis = alt.Axis(values=places, format=".0f", labelOverlap="greedy")
        return alt.X(f"{self.along}:Q", title=self.along_title, scale=scale, axis=axis)

    @property
    def colour(self) -> alt.Color:
        """A colour a series."""
        return alt.Color(
            **self._looks([colour(f"curve-{hue}") for hue, _ in self.looks().values()])
        )

    @property
    def shape(self) -> alt.Shape:
        """A shape a series, for those who cannot tell the colours."""
        return alt.Shape(**self._looks([SHAPES[shape] for _, shape in self.looks().values()]))

    def _looks(self, looks: list[str]) -> dict[str, Any]:
        scale = alt.Scale(domain=list(self.looks()), range=looks)
        return {"shorthand": f"{self.series}:N", "title": None, "scale": scale, "legend": None}

    @property
    def aside(self) -> dict[str, Any]:
        """Pixels beside the place of a mark."""
        if not self.is_aside:
            return {}
        count = max(1, len(self.names))
        # However many series there are, they take no more room than four.
        step, middle = min(ASIDE_PX, 4 * ASIDE_PX / count), (count - 1) / 2
        place = f"indexof(names, datum.{self.series})"
        return {"xOffset": alt.expr(f"{step:g} * ({place} - {middle:g})")}


def marks(name: str, rows: Sequence[Row], *notes: str | None, **more: Any) -> Marks:
    """Make the marks that `charts.toml` declares; `notes` are what else a reader must know."""
    fields = _declared()[name]
    note = " ".join(filter(None, (fields["note"], *notes)))
    return Marks(id=name, rows=rows, **fields | {"note": note} | more)


@cache
def _declared() -> dict[str, dict[str, Any]]:
    text = (files("pyscale.report") / "charts.toml").read_text("utf-8")
    few = f"none where fewer than {repeats_needed()} trials were timed"
    told = {"bars": f"Bars: 95 % intervals; {few}.", "slow": SLOW, "fast": FAST}
    return {
        name: fields | {"note": fields["note"].format(**told)}
        for name, fields in tomllib.loads(text).items()
    }


def bars(
    name: str,
    rows: Sequence[Row],
    parts: Mapping[str, str],
    above: Sequence[alt.Chart] = (),
    **data: Any,
) -> Chart | None:
    """Stack the `part`s of bars, a panel a value of `panel`; `parts` names their colours."""
    if not rows:
        return None
    how = {"along": "workers", "along_title": "Workers N"} | _declared()[name]
    along, axis = how["along"], how["axis"]
    seen_parts = each(rows, "part")
    found = {part: colour(hue) for part, hue in parts.items() if part in seen_parts}
    own = alt.Chart(alt.NamedData(name=name)).transform_filter("datum.panel == panel")
    own, told = telling(own, how["table"], rows, ("panel", along, "part", *how["seen"]))
    shown = own.transform_calculate(
        "shown", chosen(f"datum.{how['value']}", f"datum.{how['relative']}")
    )
    tint = alt.Scale(domain=list(found), range=list(found.values()))
    order = sorted({row[along] for row in rows})
    ticks = alt.Axis(labelAngle=0, labelOverlap="greedy", format=".0f")
    x = alt.X(f"{along}:O", title=how["along_title"], sort=order, axis=ticks)
    drawn = shown.transform_calculate("order", f"indexof({list(found)}, datum.part)")
    stacked = drawn.mark_bar(stroke=colour("edge"), strokeWidth=0.5).encode(
        x=x,
        y=alt.Y("shown:Q", title=None, axis=alt.Axis(tickCount=5), stack="zero"),
        color=alt.Color("part:N", scale=tint, legend=None),
        order=alt.Order("order:Q"),
        tooltip=told,
    )
    return finished(
        name,
        how["title"],
        how["note"],
        [stacked, *(layer.encode(x=x) for layer in above)],
        (axis[0], axis[-1]),
        panels=each(rows, "panel"),
        data={name: rows, **data},
        stages={row["panel"]: row["curve"] for row in rows},
        legend=legend_of(list(found), list(found.values())),
    )


def each(rows: Sequence[Row], column: str) -> list[Any]:
    """Values of a column, each once, in order."""
    return list(dict.fromkeys(row[column] for row in rows))
