"""Plots over the size of an image: times, ratios with what they flatten at, and parts of a call."""

from __future__ import annotations

from typing import Any

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.report.grid.sweep import Line, Sweep, codes, ends, ratio_title, size, sweeps, the
from pyscale.report.palette import CALL_PARTS
from pyscale.report.plots.plot import (
    BY_BOOTSTRAP,
    OF_MEDIANS,
    Along,
    Amount,
    Beside,
    Plot,
    Row,
    Stack,
    Value,
    each,
    ends_of,
    said,
    told_by,
    trials_told,
)
from pyscale.report.results import Results
from pyscale.wording import (
    ABSENT,
    gib,
    interval,
    listing,
    number,
    percent,
    phase,
    ratio,
    seconds,
)

WHICH = {"curve": "Stage", "line": "On", "size": "Size"}


def times(results: Results) -> Plot:
    """Time of a call over size, a line a device."""
    found = sweeps(results.every(GridFindings))
    rows = [
        _point(sweep, line, row)
        for sweep in found
        for line in sweep.lines
        for row in line.timed(sweep.measure)
    ]
    return _plot(
        results,
        found,
        rows,
        id="sizetime",
        title="Time over size",
        dataset="grid_points",
        value=Value(
            "call_s",
            "Time of a call (s)",
            relative="each_s",
            relative_title="Time per megapixel (s)",
        ),
        seen={
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
            f"Marks, joined by device: {listing(dict.fromkeys(one.call for one in found))}.",
            OF_MEDIANS,
        ],
        told="call",
        absent="times over sizes: it needs a run with a grid",
    )


def _point(sweep: Sweep, line: Line, row: Row) -> Row:
    measure = f"{sweep.measure}_s"
    memory = row["gpu_own_peak_bytes"]
    return {
        **_at(sweep, line, row),
        **_times(row, measure),
        "size": size(row["length_px"]),
        "call": f"{interval(row, measure, number)} s",
        "each": f"{number(row[measure] / row['megapixels'])} s",
        "rate": f"{interval(row, 'throughput_mp_s', number)} megapixels/s",
        "first": ABSENT if row["first_s"] is None else f"{number(row['first_s'])} s",
        "faster": ABSENT if row["ratio"] is None else interval(row["ratio"], "ratio", ratio),
        "memory": ABSENT if memory is None else f"{gib(round(memory))} GiB",
        "timed": trials_told(row["trials"]),
        "doubts": ", ".join(codes(row)) or "none",
    }


def ratios(results: Results) -> Plot:
    """How many times as fast one device is as another over size."""
    found = sweeps(results.every(GridFindings))
    rows = [
        {
            **_at(sweep, line, row),
            **ends_of("ratio", row),
            "same": 1.0,
            "size": size(row["length_px"]),
            "faster": interval(row, "ratio", ratio),
            "base": f"{the(row['base'])}, {number(row['base_s'])} s",
            "call": f"{number(row['value_s'])} s",
            "timed": trials_told(row["trials"]),
        }
        for sweep in found
        for line in sweep.compared
        for row in line.ratios(sweep.measure)
    ]
    flat = _ceilings(found)
    return _plot(
        results,
        found,
        rows,
        id="sizeratio",
        title="Speedup over size",
        dataset="grid_ratios",
        value=Value(
            "ratio",
            ratio_title(line.base for sweep in found for line in sweep.compared),
            scale="linear",
        ),
        seen={"faster": "Times as fast", "base": "As", "call": "A call", "timed": "Timed trials"},
        sentences=[
            "Marks: ratios of median times; dashed at 1: as fast.",
            BY_BOOTSTRAP,
            bool(flat)
            and "Dotted line and band: what the ratio flattens at, with its 95 % interval.",
        ],
        told="faster",
        absent="ratios over sizes: it needs a run with a grid of two devices",
        level="same",
        beside=[
            Beside("law", "ceilings", flat, {"curve": "Stage", "line": "On", "told": "Flattens at"})
        ],
    )


def _ceilings(found: list[Sweep]) -> list[Row]:
    """Where ratios end that flatten, at the smallest and the largest size that was measured."""
    return [
        {
            "curve": sweep.name,
            "line": line.name,
            "length_px": length_px,
            **ceiling,
            "told": interval(ceiling, "ratio", ratio),
        }
        for sweep in found
        for line in sweep.compared
        for one in (line.ceilings.get(sweep.measure),)
        if one is not None and one.shape == "flattens"
        for ceiling in ({"ratio": one.ceiling, "ratio_low": one.low, "ratio_high": one.high},)
        for length_px in (one.smallest_px, one.largest_px)
    ]


def _plot(
    results: Results,
    found: list[Sweep],
    rows: list[Row],
    *,
    value: Value,
    seen: dict[str, str],
    sentences: list[str | bool],
    told: str,
    beside: list[Beside] | None = None,
    **how: Any,
) -> Plot:
    """Draw a value of every point of the sweeps, beside that of other machines."""
    others = [row for row in _elsewhere(found, results) if row[value.column] is not None]
    titles = listing(each(others, "title"))
    elsewhere = {
        "title": "Measured elsewhere",
        "line": "On",
        "size": "Size",
        "call": "A call there",
        "faster": "Times as fast as its CPU",
        "hardware": "Hardware",
        "source": "Source",
    }
    return Plot(
        rows=rows,
        along=Along("length_px", "Side of the image (px)"),
        value=value,
        series="line",
        # Of any sweep, so that each has one colour everywhere.
        known=list(dict.fromkeys(line.name for sweep in found for line in sweep.lines)),
        seen=WHICH | seen,
        sentences=said(
            *sentences,
            titles
            and "Grey, hollow: other machines, measured elsewhere on work of their own "
            f"({titles}): compare shapes, not times.",
        ),
        printed=results.context.timed,
        told=told_by(rows, "curve", lambda row: f"{row['line']} {row[told]} at {row['size']}"),
        is_joined=True,
        headings={sweep.name: [sweep.name, *_base_times(sweep)] for sweep in found},
        beside=[
            *(beside or []),
            Beside("elsewhere", f"elsewhere_{value.column}", others, elsewhere),
        ],
        **how,
    )


def _elsewhere(found: list[Sweep], results: Results) -> list[Row]:
    """Times and ratios of other machines, beside every sweep."""
    return [
        {
            **_at(sweep, line, row),
            **_times(row, measure),
            "ratio": row["ratio"] and row["ratio"]["ratio"],
            "size": size(row["length_px"]),
            "call": f"{number(row[measure])} s",
            "faster": ratio(row["ratio"] and row["ratio"]["ratio"]),
            "title": reference.title,
            "hardware": reference.hardware.get(line.value or "", ABSENT),
            "source": reference.source,
        }
        for sweep in found
        for reference, grid in results.beside.get("grid", ())
        for other in sweeps([grid])
        for measure in (f"{other.measure}_s",)
        for line in other.lines
        for row in line.timed(other.measure)
    ]


def _at(sweep: Sweep, line: Line, row: Row) -> Row:
    return {"curve": sweep.name, "line": line.name, "length_px": row["length_px"]}


def _times(row: Row, column: str) -> Row:
    """Seconds of a call, and of each megapixel of it, with their intervals."""
    return ends_of("call_s", row, column) | ends_of("each_s", row, column, 1 / row["megapixels"])


def _base_times(sweep: Sweep) -> list[str]:
    """Times of what is compared with."""
    base = next((line for line in sweep.lines if line.base is None), sweep.lines[0])
    told = listing(
        f"{number(row[f'{sweep.measure}_s'])} s at {row['length_px']:.0f} px"
        for row in ends(base.timed(sweep.measure))
    )
    return [f"{base.name}: {told}"] if told else []


def call_parts(results: Results) -> Stack:
    """Parts of a call over size, a panel a line."""
    found = sweeps(results.every(GridFindings))
    names = each((row for sweep in found for p in sweep.points for row in p["parts"]), "part")
    rows = [
        {
            "curve": sweep.name,
            "panel": line.name if len(found) == 1 else f"{sweep.name}: {line.name}",
            "of": f"{row['length_px']:.0f}",
            "part": phase(row["part"]),
            "order": names.index(row["part"]),
            "part_s": row["part_s"],
            "share": row["share"],
            "size": size(row["length_px"]),
            "took": f"{seconds(row['part_s'])} s",
            "shared": f"{percent(row['share'])} of the call",
            "faster": ratio(row["part_ratio"]),
        }
        for sweep in found
        for line in sweep.lines
        for point in line.points
        for row in point["parts"]
        if row["part_s"] > 0
    ]
    return Stack(
        id="callparts",
        title="What a call consists of",
        dataset="call_parts",
        rows=rows,
        panel="panel",
        along=Along("of", "Side of the image (px)"),
        at="{} px",
        absolute=Amount("part_s", "Seconds of a call"),
        relative=Amount("share", "Share of a call"),
        prints="relative",
        parts={
            phase(name): f"part-{name}" if name == UNATTRIBUTED else f"call-{i % len(CALL_PARTS)}"
            for i, name in enumerate(names)
        },
        seen={
            "curve": "Stage",
            "size": "Size",
            "part": "Part",
            "took": "Took",
            "shared": "Share",
            "faster": "Times as fast",
        },
        sentences=[
            "One call, the median of each part; stacked from the axis in the order of the legend."
        ],
        printed=results.context.timed,
        absent="what a call consists of: it needs a run with a grid of a stage that times the "
        "parts of its calls",
    )
