"""Plots over the size of an image: times, and ratios with what they flatten at."""

from __future__ import annotations

from pyscale.analysis.grid.findings import GridFindings
from pyscale.report.grid.sweep import Sweep, sweeps
from pyscale.report.grid.words import ends, ratio_title
from pyscale.report.plots.plot import NO_BARS, Along, Beside, Plot, Row, Value, told_by
from pyscale.report.plots.sizerows import (
    ceiling_rows,
    elsewhere_rows,
    elsewhere_told,
    line_names,
    point_rows,
    ratio_rows,
)
from pyscale.report.results import Results
from pyscale.report.wording import listing, number

ALONG = Along(column="length_px", title="Side of the image (px)")
WHICH = {"curve": "Stage", "line": "On", "size": "Size"}


def times(results: Results) -> Plot:
    """Time of a call over size, a line a device."""
    found = sweeps(results.every(GridFindings))
    rows, others = point_rows(found), _others(found, results, "call_s")
    return Plot(
        id="sizetime",
        title="Time over size",
        dataset="grid_points",
        rows=rows,
        along=ALONG,
        value=Value(
            column="call_s",
            title="Time of a call (s)",
            relative="each_s",
            relative_title="Time per megapixel (s)",
        ),
        series="line",
        known=line_names(found),
        seen={
            **WHICH,
            "call": "A call",
            "each": "Per megapixel",
            "rate": "Throughput",
            "faster": "Times as fast",
            "first": "First call",
            "memory": "Device memory",
            "timed": "Timed trials",
            "doubts": "Doubts",
        },
        sentences=[
            "Marks: median time of a call after the first of its process, joined by device.",
            f"Bars: 95 % intervals of the median by order statistics; {NO_BARS}",
            *([elsewhere_told(others.rows)] if others.rows else []),
        ],
        printed=list(results.context.timed),
        told=told_by(rows, "curve", lambda row: _told(row, "call")),
        absent="times over sizes: it needs a run with a grid",
        is_joined=True,
        headings=_headings(found),
        beside=[others],
    )


def ratios(results: Results) -> Plot:
    """How many times as fast one device is as another over size."""
    found = sweeps(results.every(GridFindings))
    rows, others = ratio_rows(found), _others(found, results, "ratio")
    flat = ceiling_rows(found)
    return Plot(
        id="sizeratio",
        title="Speedup over size",
        dataset="grid_ratios",
        rows=rows,
        along=ALONG,
        value=Value(
            column="ratio",
            title=ratio_title(line.base for sweep in found for line in sweep.compared),
            scale="linear",
        ),
        series="line",
        known=line_names(found),
        seen={
            **WHICH,
            "faster": "Times as fast",
            "base": "As",
            "call": "A call",
            "timed": "Timed trials",
        },
        sentences=[
            "Marks: ratios of median times; dashed at 1: as fast.",
            f"Bars: 95 % intervals by bootstrap; {NO_BARS}",
            *(
                ["Dotted line and band: what the ratio flattens at, with its 95 % interval."]
                if flat
                else []
            ),
            *([elsewhere_told(others.rows)] if others.rows else []),
        ],
        printed=list(results.context.timed),
        told=told_by(rows, "curve", lambda row: _told(row, "faster")),
        absent="ratios over sizes: it needs a run with a grid of two devices",
        is_joined=True,
        headings=_headings(found),
        level="same",
        beside=[
            Beside(
                kind="law",
                dataset="ceilings",
                rows=flat,
                seen={"curve": "Stage", "line": "On", "told": "Flattens at"},
            ),
            others,
        ],
    )


def _others(found: list[Sweep], results: Results, column: str) -> Beside:
    """Rows of other machines of which this column is known."""
    rows = elsewhere_rows(found, results.beside.get("grid", ()))
    rows = [row for row in rows if row[column] is not None]
    seen = {
        "title": "Measured elsewhere",
        "line": "On",
        "size": "Size",
        "call": "A call there",
        "faster": "Times as fast as its CPU",
        "hardware": "Hardware",
        "source": "Source",
    }
    return Beside(kind="elsewhere", dataset=f"elsewhere_{column}", rows=rows, seen=seen)


def _headings(found: list[Sweep]) -> dict[str, list[str]]:
    """Sweeps, and the times of what is compared with."""
    headings = {}
    for sweep in found:
        base = next((line for line in sweep.lines if line.base is None), sweep.lines[0])
        headings[sweep.name] = [sweep.name]
        if timed := base.timed(sweep.measure):
            told = listing(
                f"{number(row[f'{sweep.measure}_s'])} s at {row['length_px']:.0f} px"
                for row in ends(timed)
            )
            headings[sweep.name].append(f"{base.name}: {told}")
    return headings


def _told(row: Row, column: str) -> str:
    return f"{row['line']} {row[column]} at {row['size']}"
