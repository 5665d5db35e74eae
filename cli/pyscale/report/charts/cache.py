"""What trials spent on reading, by the state of the page cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyscale.report.charts.chart import Chart
from pyscale.report.charts.look import curve_colours, curve_shapes
from pyscale.report.charts.points import TRIALS, Points, Shown, tooltips
from pyscale.report.curves import Curve
from pyscale.report.wording import listing
from pyscale_stages.residency import LEAST_PROVED_FIRST

Row = dict[str, Any]


def cache(found: Sequence[Curve], rows: Sequence[Row]) -> Chart | None:
    """Reading of every trial, a panel a curve; None where no trial's state or phases are known."""
    known = [row for row in rows if row["state"] and row["read_s"] and row["place"]]
    if not known:
        return None
    import altair as alt

    states = [
        state for state in reversed(LEAST_PROVED_FIRST) if state in {row["state"] for row in known}
    ]
    points = Points(
        Shown("read_s", "read_share", "Reading (worker-seconds)", "Reading, share of the work"),
        states,
        [1],
        {},
        panels=[curve.name for curve in found],
    )
    seen = {
        "curve": "Stage",
        "place": "Place in the run",
        "workers": "Workers N",
        "repeat": "Repeat",
        "state": "Page cache was",
        "asked": "Asked to be",
        "read": "Reading",
        "wall": "Wall time",
    }
    shape = alt.Scale(domain=states, range=curve_shapes(len(states)))
    hue = alt.Scale(domain=states, range=curve_colours(len(states)))
    chart = (
        points.rows(TRIALS)
        .transform_filter("isValid(datum.state) && datum.shown > 0")
        .mark_point(filled=True, size=45, opacity=0.85)
        .encode(
            x=alt.X("place:Q", title="Trials in the order of the run", scale=alt.Scale(zero=False)),
            y=points.y(),
            color=alt.Color("state:N", title=None, scale=hue, legend=None),
            shape=alt.Shape("state:N", title=None, scale=shape, legend=None),
            tooltip=tooltips(seen),
        )
    )
    note = (
        "Each point is a trial: what its workers spent reading the input, opening and decoding it "
        "included. Caches of servers and hypervisors cannot be seen."
    )
    return Chart(
        id="cache",
        title="Reading, by the state of the page cache",
        description=f"{note} States seen: {listing(states)}.",
        spec=points.spec([chart], note),
    )
