"""The plot of two runs, or of two tables of wall times, configuration by configuration."""

from __future__ import annotations

import math

import polars as pl

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.judging import MARGIN
from pyscale.report.judged import judged
from pyscale.report.plots.plot import Along, Beside, Plot, Row, Value, told_by
from pyscale.report.wording import ratio, with_interval

VERDICTS = ["same", "worse", "better", "slower", "faster", "not enough data"]
ROOM = 0.06
"""By which the band reaches beyond the outermost N, of the octaves between these."""


def comparison(table: pl.DataFrame) -> Plot:
    """Wall times of one run over those of another, with the verdict of each.

    The table is one that `pyscale.analysis.comparison.comparison` gives.
    """
    rows = [
        {
            "curve": row["name"],
            **{name: row[name] for name in ("workers", "verdict", "ratio")},
            **{f"ratio{end}": row[f"ratio{end}"] for end in ("_low", "_high")},
            "invalid": row["base_invalid"] or row["new_invalid"],
            "told": with_interval(*(ratio(row[f"ratio{end}"]) for end in ("", "_low", "_high"))),
        }
        for row in judged(table)
        if row["ratio"] is not None
    ]
    has_crosses = any(row["invalid"] for row in rows)
    verdicts = {row["verdict"] for row in rows}
    # A legend names them where there are several.
    always = f" (of all: {min(verdicts)})" if len(verdicts) == 1 else ""
    is_unsure = not verdicts.isdisjoint({"slower", "faster"})
    return Plot(
        id="comparison",
        title="Wall times of two runs",
        dataset="comparison",
        rows=rows,
        along=Along(column="workers", title="Workers N"),
        value=Value(column="ratio", title="Wall time, new / base"),
        series="verdict",
        known=VERDICTS,
        seen={"curve": "Stage", "workers": "Workers N", "told": "Ratio", "verdict": "Verdict"},
        sentences=[
            "Marks: ratios of wall times, new over base (Hodges-Lehmann), with the verdict"
            f"{always}; above 1 (dashed) the new one is slower.",
            "Bars: intervals of which each end is a 95 % bound; none is drawn where one of the two "
            f"had fewer than {repeats_needed()} trials.",
            f"Grey band: {1 / (1 + MARGIN):.3f} to {1 + MARGIN:g}, a difference too small to "
            "matter.",
            *([f"Slower, faster: perhaps by less than {100 * MARGIN:g} %."] if is_unsure else []),
            *(["Cross: the output of one of them is not its baseline's."] if has_crosses else []),
        ],
        told=told_by(
            rows, "curve", lambda row: f"{row['told']} at N = {row['workers']}, {row['verdict']}"
        ),
        absent="the comparison: no configuration was timed in both, so compare runs that have a "
        "stage and an N in common",
        beside=[Beside(kind="ideal", dataset="same", rows=_same(rows))],
        crossed="invalid" if has_crosses else None,
    )


def _same(rows: list[Row]) -> list[Row]:
    """Differences that are too small to matter, from before the smallest N to after the largest."""
    if not rows:
        return []
    least, most = (pick(row["workers"] for row in rows) for pick in (min, max))
    room = 2 ** (ROOM * max(1.0, math.log2(most / least)))
    band = {"title": "", "ratio": 1.0, "ratio_low": 1 / (1 + MARGIN), "ratio_high": 1 + MARGIN}
    return [
        {"curve": curve, "workers": workers} | band
        for curve in dict.fromkeys(row["curve"] for row in rows)
        for workers in (least / room, most * room)
    ]
