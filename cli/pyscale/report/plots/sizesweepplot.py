"""The plot of a table of single measurements: time against the size of an image, by device."""

from __future__ import annotations

import polars as pl

from pyscale.report.plots.plot import Along, Beside, Plot, Row, Value, told_by
from pyscale.report.wording import number


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
        pl.lit(title).alias("curve"),
        pl.col(device).cast(pl.String).alias("device"),
        pl.col(length_px).alias("length_px"),
        pl.col(wall_s).alias("wall_s"),
    )
    medians = measured.group_by("curve", "device", "length_px", maintain_order=True).median()
    rows = medians.to_dicts()
    singles = measured.to_dicts() if len(rows) < len(measured) else []
    marks = "medians; small, set to their left: single measurements"
    return Plot(
        id="sizesweep",
        title="Time over size",
        dataset="size_sweep",
        rows=rows,
        along=Along(column="length_px", title="Side of the image (px)"),
        value=Value(column="wall_s", title="Time (s)"),
        series="device",
        known=list(dict.fromkeys(row["device"] for row in rows)),
        seen={"device": "On", "length_px": "Side (px)", "wall_s": "Seconds"},
        sentences=[
            f"Marks: {marks if singles else 'single measurements'}, joined by device; dashed: in "
            f"proportion to the pixels, from the longest time{_longest(rows)}."
        ],
        told=told_by(
            rows, "device", lambda row: f"{number(row['wall_s'])} s at {row['length_px']:.0f} px"
        ),
        absent="the sizes: the table has no rows",
        is_joined=True,
        beside=[
            # The longest time lies on the line, the others lie beside it or under it.
            Beside(kind="ideal", dataset="in_proportion", rows=_in_proportion(rows)),
            Beside(kind="single", dataset="size_singles", rows=singles),
        ],
    )


def _in_proportion(rows: list[Row]) -> list[Row]:
    longest = max(rows, key=lambda row: row["wall_s"], default={})
    return [
        row | {"title": "", "wall_s": longest["wall_s"] * (px / longest["length_px"]) ** 2}
        for row in rows
        for px in (row["length_px"],)
    ]


def _longest(rows: list[Row]) -> str:
    return f" ({max(rows, key=lambda row: row['wall_s'])['device']})" if rows else ""
