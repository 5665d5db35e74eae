"""Plots of tables: of two runs, configuration by configuration, and of single measurements."""

from __future__ import annotations

import math

import polars as pl

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.judging import MARGIN
from pyscale.report.judged import judged
from pyscale.report.plots.plot import Along, Beside, Plot, Row, Value, each, ends_of, said, told_by
from pyscale.report.wording import interval, number, ratio

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
            "workers": row["workers"],
            "verdict": row["verdict"],
            **ends_of("ratio", row),
            "invalid": row["base_invalid"] or row["new_invalid"],
            "told": interval(row, "ratio", ratio),
        }
        for row in judged(table)
        if row["ratio"] is not None
    ]
    has_crosses = any(row["invalid"] for row in rows)
    verdicts = {row["verdict"] for row in rows}
    # A legend names them where there are several.
    always = f" (of all: {min(verdicts)})" if len(verdicts) == 1 else ""
    return Plot(
        id="comparison",
        title="Wall times of two runs",
        dataset="comparison",
        rows=rows,
        value=Value("ratio", "Wall time, new / base"),
        series="verdict",
        known=VERDICTS,
        seen={"curve": "Stage", "workers": "Workers N", "told": "Ratio", "verdict": "Verdict"},
        sentences=said(
            "Marks: ratios of wall times, new over base (Hodges-Lehmann), with the verdict"
            f"{always}; above 1 (dashed) the new one is slower.",
            "Bars: intervals of which each end is a 95 % bound; none is drawn where one of the two "
            f"had fewer than {repeats_needed()} trials.",
            f"Grey band: {1 / (1 + MARGIN):.3f} to {1 + MARGIN:g}, a difference too small to "
            "matter.",
            not verdicts.isdisjoint({"slower", "faster"})
            and f"Slower, faster: perhaps by less than {100 * MARGIN:g} %.",
            has_crosses and "Cross: the output of one of them is not its baseline's.",
        ),
        told=told_by(
            rows, "curve", lambda row: f"{row['told']} at N = {row['workers']}, {row['verdict']}"
        ),
        absent="the comparison: no configuration was timed in both, so compare runs that have a "
        "stage and an N in common",
        beside=[Beside("ideal", "same", _same(rows))],
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
        for curve in each(rows, "curve")
        for workers in (least / room, most * room)
    ]


def size_sweep(
    table: pl.DataFrame,
    *,
    length_px: str = "length_px",
    wall_s: str = "wall_s",
    device: str = "device",
    title: str = "",
) -> Plot:
    """Time that images of rising size take on each device, both axes logarithmic.

    Lines join the points: between two sizes lie others, which would take a time between theirs.

    Parameters
    ----------
    table : polars.DataFrame
        One row per measurement.
    length_px, wall_s, device : str
        Its columns: side of the image in pixels, or the root of its area; seconds; and what
        computed it.
    title : str
        What was computed, above the panel.
    """
    measured = table.select(
        curve=pl.lit(title),
        device=pl.col(device).cast(pl.String),
        length_px=pl.col(length_px),
        wall_s=pl.col(wall_s),
    )
    medians = measured.group_by("curve", "device", "length_px", maintain_order=True).median()
    rows = medians.to_dicts()
    singles = measured.to_dicts() if len(rows) < len(measured) else []
    marks = "medians; small, set to their left: single measurements"
    # The longest time lies on the line, the others lie beside it or under it.
    longest = max(rows, key=lambda row: row["wall_s"], default={})
    in_proportion = [
        # Pixels grow with the square of the side.
        row | {"title": "", "wall_s": longest["wall_s"] * (px / longest["length_px"]) ** 2}
        for row in rows
        for px in (row["length_px"],)
    ]
    of_device = f" ({longest['device']})" if longest else ""
    return Plot(
        id="sizesweep",
        title="Time over size",
        dataset="size_sweep",
        rows=rows,
        along=Along("length_px", "Side of the image (px)"),
        value=Value("wall_s", "Time (s)"),
        series="device",
        seen={"device": "On", "length_px": "Side (px)", "wall_s": "Seconds"},
        sentences=[
            f"Marks: {marks if singles else 'single measurements'}, joined by device; dashed: in "
            f"proportion to the pixels, from the longest time{of_device}."
        ],
        told=told_by(
            rows, "device", lambda row: f"{number(row['wall_s'])} s at {row['length_px']:.0f} px"
        ),
        absent="the sizes: the table has no rows",
        is_joined=True,
        beside=[
            Beside("ideal", "in_proportion", in_proportion),
            Beside("single", "size_singles", singles),
        ],
    )
