"""Where the worker-seconds went, as stacked bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyscale.report.charts.chart import Chart
from pyscale.report.charts.look import colour, cross
from pyscale.report.charts.points import Shown, finished, tooltips
from pyscale.report.palette import PARTS
from pyscale.report.wording import listing, phase

LOSSES = "losses"
Row = dict[str, Any]
SHOWN = Shown("worker_s", "share", "Where the worker-seconds went", "Where the time went (share)")
NOTE = (
    "Each bar is N times the wall time. Line across: the worker-seconds that the baseline took "
    "for as much work; what is above is lost."
)
CROSSES = "Cross: invalid, its output is not the baseline's."


def losses(rows: Sequence[Row]) -> Chart | None:
    """Worker-seconds by part and number of workers, a panel a curve; None where none are known."""
    if not rows:
        return None
    names = list(dict.fromkeys(row["curve"] for row in rows))
    crosses = any(row["invalid"] for row in rows)
    note = f"{NOTE} {CROSSES}" if crosses else NOTE
    told = largest_parts(rows, "curve", "workers", lambda row: f"N = {row['workers']}")
    return Chart(
        id="losses",
        title="Where the worker-seconds went",
        description=f"{note} {told}",
        spec=finished(
            _layers(invalid=crosses),
            SHOWN,
            note,
            panels=names,
            legend=part_legend({row["part"] for row in rows}),
        ),
    )


def part_legend(seen: set[str]) -> list[dict[str, str]]:
    """Name and colour of every part that was seen, in the order in which bars stack them."""
    return [
        {"name": phase(part), "colour": colour(f"part-{part}")}
        for part in PARTS
        if phase(part) in seen
    ]


def part_colour() -> Any:
    """A colour a part, the same in every chart."""
    import altair as alt

    scale = alt.Scale(
        domain=[phase(part) for part in PARTS], range=[colour(f"part-{part}") for part in PARTS]
    )
    return alt.Color("part:N", scale=scale, legend=None)


def _layers(*, invalid: bool) -> Any:
    import altair as alt

    rows = (
        alt.Chart(alt.NamedData(name=LOSSES))
        .transform_filter("datum.curve == panel")
        .transform_calculate("shown", "amount == 'relative' ? datum.share : datum.worker_s")
        .transform_calculate("needed", "amount == 'relative' ? datum.needed_share : datum.needed_s")
    )
    x = alt.X("workers:O", title="Workers N", axis=alt.Axis(labelAngle=0, labelOverlap="greedy"))
    y = alt.Y("shown:Q", title=None, axis=alt.Axis(tickCount=5), stack="zero")
    seen = {
        "curve": "Stage",
        "workers": "Workers N",
        "part": "Part",
        "took": "Took",
        "shared": "Share",
        "grown": "Beyond the baseline",
    }
    once = rows.transform_aggregate(
        groupby=["workers"], total="sum(shown)", needed="max(needed)", invalid="max(invalid)"
    )
    layers = [
        rows.mark_bar(stroke=colour("edge"), strokeWidth=0.5).encode(
            x=x, y=y, color=part_colour(), order=alt.Order("order:Q"), tooltip=tooltips(seen)
        ),
        *(
            once.mark_tick(thickness=thickness, color=colour(name)).encode(x=x, y=alt.Y("needed:Q"))
            # With an edge it is seen on every part.
            for name, thickness in (("edge", 4), ("ink", 2))
        ),
    ]
    if invalid:
        above = once.transform_filter("datum.invalid").mark_point(**cross(yOffset=-10))
        layers.append(above.encode(x=x, y=alt.Y("total:Q")))
    return alt.layer(*layers)


def largest_parts(
    rows: Sequence[Mapping[str, Any]],
    panel: str,
    along: str,
    at: Callable[[Mapping[str, Any]], str],
) -> str:
    """State the largest parts at the end of each panel of stacked bars."""
    told = []
    for name in dict.fromkeys(row[panel] for row in rows):
        own = [row for row in rows if row[panel] == name]
        most = max(row[along] for row in own)
        parts = sorted((row for row in own if row[along] == most), key=lambda row: -row["share"])
        largest = listing(f"{row['part']} {row['shared']}" for row in parts[:3])
        told.append(f"{name} at {at(parts[0])}: {largest}.")
    return " ".join(told)
