"""The plot of numbers that stages measure of their work."""

from __future__ import annotations

from pyscale.report.measured import titled
from pyscale.report.plots.plot import Plot, Value, bars, ends_of, told_by
from pyscale.report.results import Results
from pyscale.report.wording import interval, number, ratio


def measures(results: Results) -> Plot:
    """Every number over N, a panel each."""
    measured = [] if results.measured is None else results.measured.to_dicts()
    rows = [
        {
            "curve": f"{row['stage']}: {titled(row['name'], row['unit'])}",
            **{name: row[name] for name in ("stage", "workers", "repeats")},
            **ends_of("value", row),
            "told": interval(row, "value", number),
            "over": ratio(row["over_baseline"]),
            "better": row["better"] or "neither",
        }
        for row in measured
    ]
    return Plot(
        id="measures",
        title="Numbers that stages measure, over workers",
        dataset="measures",
        rows=rows,
        value=Value("value", "Value, in the panel's unit", scale="linear"),
        series="stage",
        seen={
            "curve": "Measured",
            "workers": "Workers N",
            "told": "Median",
            "over": "Over N0's",
            "better": "Better",
            "repeats": "Timed trials",
        },
        sentences=["Marks, joined: medians over trials.", bars(" by order statistics")],
        printed=results.context.timed,
        told=told_by(rows, "curve", lambda row: f"{row['told']} at N = {row['workers']}"),
        absent="numbers that stages measure: it needs a run of a stage that measures any",
        is_joined=True,
        has_own_scales=True,
    )
