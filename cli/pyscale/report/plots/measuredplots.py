"""The plot of numbers that stages measure of their work."""

from __future__ import annotations

from pyscale.report.measured import titled
from pyscale.report.plots.plot import NO_BARS, Along, Plot, Row, Value, told_by
from pyscale.report.results import Results
from pyscale.report.wording import number, ratio, with_interval


def measures(results: Results) -> Plot:
    """Every number over N, a panel each."""
    rows = _rows(results)
    stages = list(dict.fromkeys(row["stage"] for row in rows))
    return Plot(
        id="measures",
        title="Numbers that stages measure, over workers",
        dataset="measures",
        rows=rows,
        along=Along(column="workers", title="Workers N"),
        value=Value(column="value", title="Value, in the panel's unit", scale="linear"),
        series="stage",
        known=stages,
        seen={
            "curve": "Measured",
            "workers": "Workers N",
            "told": "Median",
            "over": "Over N0's",
            "better": "Better",
            "repeats": "Timed trials",
        },
        sentences=[
            "Marks, joined: medians over trials.",
            f"Bars: 95 % intervals by order statistics; {NO_BARS}",
        ],
        printed=list(results.context.timed),
        told=told_by(rows, "curve", lambda row: f"{row['told']} at N = {row['workers']}"),
        absent="numbers that stages measure: it needs a run of a stage that measures any",
        is_joined=True,
        has_own_scales=True,
    )


def _rows(results: Results) -> list[Row]:
    if results.measured is None:
        return []
    return [
        {
            "curve": f"{row['stage']}: {titled(row['name'], row['unit'])}",
            **{name: row[name] for name in ("stage", "workers", "repeats")},
            **{f"value{end}": row[f"value{end}"] for end in ("", "_low", "_high")},
            "told": with_interval(*(number(row[f"value{end}"]) for end in ("", "_low", "_high"))),
            "over": ratio(row["over_baseline"]),
            "better": row["better"] or "neither",
        }
        for row in results.measured.iter_rows(named=True)
    ]
