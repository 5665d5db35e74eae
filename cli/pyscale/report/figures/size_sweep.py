"""Time against the size of an image, by device."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pyscale.errors import UserError
from pyscale.report.figures.axes import log_breaks, seconds_axis, tick_labels
from pyscale.report.figures.dots import MARKS
from pyscale.report.figures.house import (
    IDEAL_LINE,
    NothingToDrawError,
    Sheet,
    Width,
    figure,
    in_panels,
)
from pyscale.report.palette import CURVES

if TYPE_CHECKING:
    from plotnine import ggplot


def size_sweep(
    table: pl.DataFrame,
    *,
    length_px: str = "length_px",
    wall_s: str = "wall_s",
    device: str = "device",
    title: str = "",
    width_mm: Width = 180,
) -> ggplot:
    """Draw the time that images of rising size take on each device, both axes logarithmic.

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
    width_mm : {88, 180}
        One column of a journal, or two.

    Returns
    -------
    plotnine.ggplot

    Raises
    ------
    NothingToDrawError
        Where the table has no rows.
    UserError
        Where it has more devices than can be told apart.
    """
    from plotnine import (
        aes,
        geom_line,
        geom_point,
        guide_legend,
        scale_color_manual,
        scale_shape_manual,
        scale_x_log10,
        stat_summary,
    )

    if table.is_empty():
        raise NothingToDrawError("there is no figure of the sizes: the table has no rows")
    devices = [str(name) for name in table[device].unique(maintain_order=True)]
    if len(devices) > len(MARKS):
        raise UserError(
            f"{len(devices)} devices cannot be told apart in one figure: draw {len(MARKS)} or "
            "fewer, by a filter on the table"
        )
    sheet = Sheet(1, width_mm, 72)
    panel = sheet.title(title) if title else ""
    rows = [
        {
            "panel": panel,
            "megapixels": row[length_px] ** 2 / 1e6,
            "wall_s": row[wall_s],
            "device": str(row[device]),
        }
        for row in table.iter_rows(named=True)
    ]
    # Through the longest time, the others lie beside it or under it.
    longest = max(rows, key=lambda row: row["wall_s"])
    proportional = [
        row | {"wall_s": longest["wall_s"] * row["megapixels"] / longest["megapixels"]}
        for row in rows
    ]
    columns = ["megapixels", "wall_s", "device"]
    marks: dict[str, Any] = {"limits": devices}
    marks["guide"] = guide_legend(ncol=sheet.legend_columns(devices), byrow=True)
    several = len({(row["megapixels"], row["device"]) for row in rows}) < len(rows)
    marked = in_panels(columns, rows, [panel])
    plot: ggplot = (
        figure(
            sheet,
            [panel],
            "Marks: single measurements, joined by device"
            f"{' at their medians' if several else ''}; "
            f"dashed: in proportion to the pixels, from the longest time ({longest['device']}).",
            legend=devices,
        )
        + geom_line(
            aes("megapixels", "wall_s"),
            in_panels(columns, proportional, [panel]),
            **IDEAL_LINE,
        )
        + stat_summary(
            aes("megapixels", "wall_s", color="device"),
            marked,
            geom="line",
            fun_y=np.median,
            size=0.5,
        )
        + geom_point(aes("megapixels", "wall_s", color="device", shape="device"), marked, size=1.9)
        + scale_color_manual(CURVES[: len(devices)], **marks)
        + scale_shape_manual(MARKS[: len(devices)], **marks)
        + scale_x_log10(
            name="Pixels of the image (millions)",
            breaks=log_breaks,
            minor_breaks=[],
            labels=tick_labels,
        )
        + seconds_axis("Time (s)")
    )
    return plot
