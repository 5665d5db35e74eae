"""Charts over the size of an image: times, and ratios with their ceilings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyscale.report.charts.chart import Chart
from pyscale.report.charts.gridrows import elsewhere_told, line_names
from pyscale.report.charts.look import colour, curve_colours, curve_shapes, dashes
from pyscale.report.charts.points import BARS, Shown, finished, legend_of, tooltips
from pyscale.report.grid.sweep import Sweep
from pyscale.report.grid.words import ratio_title
from pyscale.report.wording import listing

if TYPE_CHECKING:
    import altair as alt

Row = dict[str, Any]
GRID_POINTS, GRID_RATIOS, CEILINGS = "grid_points", "grid_ratios", "ceilings"
ELSEWHERE = "elsewhere_by_size"
TIMES = Shown("call_s", "each_s", "Time of a call (s)", "Time per megapixel (s)")
WHICH = {"curve": "Stage", "line": "On", "size": "Size"}
DASHES = ([5, 4], [2, 2], [7, 3, 1.5, 3], [9, 2], [1.5, 4], [7, 2, 1.5, 2, 1.5, 2])
"""Of lines of other machines."""
ROOM = 1.12
"""Factor by which the axis of sizes reaches beyond the points."""


@dataclass(frozen=True)
class Sizes:
    """Layers of one chart over size.

    Attributes
    ----------
    sweeps : sequence of Sweep
    names : sequence of str
        Lines of any chart, in order, so that each has one colour everywhere.
    drawn : sequence of str
        Those of this chart.
    lengths : sequence of float
        Sizes of this run, which have ticks.
    span : tuple of float
        Smallest and largest size of all that is drawn.
    others : dict of str to str
        Lines of other machines that are drawn too, and whose they are.
    """

    sweeps: Sequence[Sweep]
    names: Sequence[str]
    drawn: Sequence[str]
    lengths: Sequence[float]
    span: tuple[float, float]
    others: dict[str, str]

    @classmethod
    def of(cls, found: Sequence[Sweep], rows: Sequence[Row], elsewhere: Sequence[Row]) -> Sizes:
        """Take the sizes of these rows."""
        lengths = sorted({row["length_px"] for row in rows})
        every = [row["length_px"] for row in (*rows, *elsewhere)]
        drawn = list(dict.fromkeys(row["line"] for row in rows))
        others = {row["line"]: row["title"] for row in elsewhere}
        return cls(found, line_names(found), drawn, lengths, (min(every), max(every)), others)

    @property
    def panels(self) -> list[str]:
        """Sweeps, where each has a panel of its own."""
        return [sweep.name for sweep in self.sweeps] if len(self.sweeps) > 1 else []

    def rows(self, dataset: str) -> alt.Chart:
        """Rows of the panel, or of chosen sweeps."""
        import altair as alt

        chosen = "datum.curve == panel" if self.panels else "indexof(stages, datum.curve) >= 0"
        chart: alt.Chart = alt.Chart(alt.NamedData(name=dataset)).transform_filter(chosen)
        return chart

    def x(self, column: str = "length_px") -> alt.X:
        """Sizes, with a tick at each that was measured here."""
        import altair as alt

        low, high = self.span
        scale = alt.Scale(type="log", base=2, domain=[low / ROOM, high * ROOM], nice=False)
        axis = alt.Axis(values=list(self.lengths), format=".0f", labelOverlap="greedy")
        return alt.X(f"{column}:Q", title="Side of the image (px)", scale=scale, axis=axis)

    @property
    def colour(self) -> alt.Color:
        """A colour a line, the same in every chart."""
        import altair as alt

        return alt.Color("line:N", title=None, scale=self._scale(curve_colours), legend=None)

    @property
    def shape(self) -> alt.Shape:
        """A shape a line, for those who cannot tell the colours."""
        import altair as alt

        return alt.Shape("line:N", title=None, scale=self._scale(curve_shapes), legend=None)

    def _scale(self, looks: Callable[[int], list[str]]) -> alt.Scale:
        import altair as alt

        known = dict(zip(self.names, looks(len(self.names)), strict=True))
        return alt.Scale(domain=list(self.drawn), range=[known[name] for name in self.drawn])

    def marks(self, rows: alt.Chart, y: Any, seen: dict[str, str]) -> list[alt.Chart]:
        """Lines through the points, which are joined as sizes between them would lie there."""
        return [
            rows.mark_line(strokeWidth=1.5).encode(x=self.x(), y=y(""), color=self.colour),
            rows.transform_filter("isValid(datum.shown_low)")
            .mark_rule(strokeWidth=2.5, opacity=0.55, strokeCap="round")
            .encode(x=self.x(), y=y("_low"), y2="shown_high:Q", color=self.colour),
            rows.mark_point(filled=True, opacity=1, size=60).encode(
                x=self.x(), y=y(""), color=self.colour, shape=self.shape, tooltip=tooltips(seen)
            ),
        ]

    def elsewhere(self, rows: alt.Chart, y: Any, others: Sequence[Row]) -> list[alt.Chart]:
        """Grey broken lines of other machines, told apart by their dashes."""
        import altair as alt

        names = list(dict.fromkeys(row["line"] for row in others))
        scale = alt.Scale(domain=names, range=_dashes(len(names)))
        dash = alt.StrokeDash("line:N", title=None, scale=scale, legend=None)
        seen = {
            "title": "Measured elsewhere",
            "line": "On",
            "size": "Size",
            "call": "A call there",
            "faster": "Times as fast as its CPU",
            "hardware": "Hardware",
            "source": "Source",
        }
        grey = colour("reference")
        return [
            rows.mark_line(color=grey, strokeWidth=1.3).encode(
                x=self.x(), y=y(""), strokeDash=dash
            ),
            rows.mark_point(filled=False, size=28, strokeWidth=1.2, color=grey).encode(
                x=self.x(), y=y(""), tooltip=tooltips(seen)
            ),
        ]

    def spec(self, layers: Sequence[alt.Chart], shown: Shown, note: str) -> dict[str, Any]:
        """Vega-Lite of all layers."""
        import altair as alt

        names = [sweep.name for sweep in self.sweeps]
        params = [] if self.panels else [alt.param(name="stages", value=names)]
        count = len(self.names)
        looks = zip(curve_colours(count), curve_shapes(count), strict=True)
        known = dict(zip(self.names, looks, strict=True))
        legend = legend_of(self.drawn, *zip(*(known[one] for one in self.drawn), strict=True))
        pairs = zip(self.others.items(), _dashes(len(self.others)), strict=True)
        grey = [
            {
                "name": f"{line} ({title})",
                "colour": colour("reference"),
                "dash": " ".join(map(str, dash)),
            }
            for (line, title), dash in pairs
        ]
        return finished(
            alt.layer(*layers),
            shown,
            note,
            panels=self.panels,
            params=params,
            legend=[*legend, *grey] if len(legend) + len(grey) > 1 else None,
        )


def _dashes(count: int) -> list[Any]:
    return [DASHES[place % len(DASHES)] for place in range(count)]


def times(found: Sequence[Sweep], rows: Sequence[Row], elsewhere: Sequence[Row]) -> Chart | None:
    """Time of a call over size; None where none was timed."""
    import altair as alt

    if not rows:
        return None
    sizes = Sizes.of(found, rows, elsewhere)

    def shown(dataset: str) -> alt.Chart:
        chart = sizes.rows(dataset)
        for end in ("", "_low", "_high"):
            chosen = f"amount == 'relative' ? datum.each_s{end} : datum.call_s{end}"
            chart = chart.transform_calculate(f"shown{end}", chosen)
        return chart.transform_filter("isValid(datum.shown)")

    def y(end: str) -> alt.Y:
        scale = alt.Scale(type="log", base=10, nice=False, padding=16)
        return alt.Y(f"shown{end}:Q", title=None, scale=scale, axis=alt.Axis(tickCount=6))

    seen = {
        **WHICH,
        "call": "A call",
        "each": "Per megapixel",
        "rate": "Throughput",
        "faster": "Times as fast",
        "first": "First call",
        "memory": "Device memory",
        "timed": "Timed trials",
        "doubts": "Doubts",
    }
    layers = sizes.elsewhere(shown(ELSEWHERE), y, elsewhere) if elsewhere else []
    layers += sizes.marks(shown(GRID_POINTS), y, seen)
    note = " ".join([f"Medians. {BARS}", *([elsewhere_told(elsewhere)] if elsewhere else [])])
    return Chart(
        id="sizetime",
        title="Time over size",
        description=f"{note} {_told(rows, 'call')}",
        spec=sizes.spec(layers, TIMES, note),
    )


def ratios(
    found: Sequence[Sweep], rows: Sequence[Row], ends: Sequence[Row], elsewhere: Sequence[Row]
) -> Chart | None:
    """Ratios over size with their ceilings; None where nothing was compared."""
    import altair as alt

    if not rows:
        return None
    others = [row for row in elsewhere if row["ratio"] is not None]
    sizes = Sizes.of(found, rows, others)

    def shown(dataset: str) -> alt.Chart:
        chart = sizes.rows(dataset)
        for end in ("", "_low", "_high"):
            chart = chart.transform_calculate(f"shown{end}", f"datum.ratio{end}")
        return chart.transform_filter("isValid(datum.shown)")

    def y(end: str) -> alt.Y:
        return alt.Y(f"shown{end}:Q", title=None, scale=alt.Scale(zero=True, nice=False))

    once = sizes.rows(GRID_RATIOS).transform_aggregate(rows="count()")
    same = once.mark_rule(color=colour("ideal"), **dashes())
    layers = [same.encode(y=alt.datum(1))]
    if ends:
        bands = sizes.rows(CEILINGS)
        over = {"x": sizes.x("from_px"), "x2": "to_px:Q"}
        line = {"curve": "Stage", "line": "On", "told": "Flattens at"}
        layers += [
            bands.mark_rect(opacity=0.16).encode(
                **over, y="low:Q", y2="high:Q", color=sizes.colour, tooltip=tooltips(line)
            ),
            bands.mark_rule(strokeWidth=1.5).encode(
                **over, y="ceiling:Q", color=sizes.colour, tooltip=tooltips(line)
            ),
        ]
    if others:
        layers += sizes.elsewhere(shown(ELSEWHERE), y, others)
    seen = {
        **WHICH,
        "faster": "Times as fast",
        "base": "As",
        "call": "A call",
        "timed": "Timed trials",
    }
    layers += sizes.marks(shown(GRID_RATIOS), y, seen)
    parts = [
        f"Ratios of median times. {BARS} Dashed at 1: as fast.",
        "Line and band: what the ratio flattens at, with its 95 % interval." if ends else "",
        elsewhere_told(others) if others else "",
    ]
    note = " ".join(filter(None, parts))
    title = ratio_title(line.base for sweep in found for line in sweep.compared)
    return Chart(
        id="sizeratio",
        title="Speedup over size",
        description=f"{note} {_told(rows, 'faster')}",
        spec=sizes.spec(layers, Shown("ratio", "ratio", title, title), note),
    )


def _told(rows: Sequence[Row], column: str) -> str:
    """State what a chart shows of every line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        at = f"{row[column]} at {row['size']}"
        lines.setdefault((row["curve"], row["line"]), []).append(at)
    return " ".join(f"{curve}, {line}: {listing(own)}." for (curve, line), own in lines.items())
