"""Rows of the plots over size: what is drawn as numbers, what is read on it as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyscale.report.grid.sweep import Line, Sweep, codes, sweeps
from pyscale.report.grid.words import size, the
from pyscale.report.plots.plot import WITH_ENDS, Row, ends_of, trials_told
from pyscale.report.wording import (
    ABSENT,
    gib,
    listing,
    number,
    ratio,
    with_interval,
)

if TYPE_CHECKING:
    from pyscale.analysis.grid.findings import GridFindings
    from pyscale.references.model import Reference

Elsewhere = Sequence[tuple["Reference", "GridFindings"]]


def point_rows(found: Sequence[Sweep]) -> list[Row]:
    """Every point of which a call was timed."""
    return [
        _point(sweep, line, row)
        for sweep in found
        for line in sweep.lines
        for row in line.timed(sweep.measure)
    ]


def _point(sweep: Sweep, line: Line, row: Row) -> Row:
    measure = sweep.measure
    compared = sweep.ratio_of(row)
    memory = row["gpu_own_peak_bytes"]
    return {
        "curve": sweep.name,
        "line": line.name,
        "length_px": row["length_px"],
        **_times(row, measure),
        "size": size(row["length_px"]),
        "call": f"{_written(row, f'{measure}_s', number)} s",
        "each": f"{number(row[f'{measure}_s'] / row['megapixels'])} s",
        "rate": f"{_written(row, 'throughput_mp_s', number)} megapixels/s",
        "first": ABSENT if row["first_s"] is None else f"{number(row['first_s'])} s",
        "faster": ABSENT if compared is None else _written(compared, "ratio", ratio),
        "memory": ABSENT if memory is None else f"{gib(round(memory))} GiB",
        "timed": trials_told(row["trials"]),
        "doubts": ", ".join(codes(row)) or "none",
    }


def ratio_rows(found: Sequence[Sweep]) -> list[Row]:
    """Every ratio of two points that did the same work."""
    return [
        {
            "curve": sweep.name,
            "line": line.name,
            "length_px": row["length_px"],
            **ends_of("ratio", row),
            "same": 1.0,
            "size": size(row["length_px"]),
            "faster": _written(row, "ratio", ratio),
            "base": f"{the(row['base'])}, {number(row['base_s'])} s",
            "call": f"{number(row['value_s'])} s",
            "timed": trials_told(row["trials"]),
        }
        for sweep in found
        for line in sweep.compared
        for row in sweep.ratios(line, sweep.measure)
    ]


def ceiling_rows(found: Sequence[Sweep]) -> list[Row]:
    """Where ratios end that flatten, at the smallest and the largest size that was measured."""
    return [
        {
            "curve": sweep.name,
            "line": line.name,
            "length_px": length_px,
            "ratio": one.ceiling,
            "ratio_low": one.low,
            "ratio_high": one.high,
            "told": f"{ratio(one.ceiling)} [{ratio(one.low)}, {ratio(one.high)}]",
        }
        for sweep in found
        for line in sweep.compared
        for one in (sweep.ceiling(line, sweep.measure),)
        if one is not None and one.shape == "flattens"
        for length_px in (one.smallest_px, one.largest_px)
    ]


def elsewhere_rows(found: Sequence[Sweep], references: Elsewhere) -> list[Row]:
    """Times and ratios of other machines, beside every sweep."""
    return [
        {
            "curve": sweep.name,
            "line": line.name,
            "length_px": row["length_px"],
            **_times(row, other.measure),
            "ratio": ratios.get(row["pixels"]),
            "size": size(row["length_px"]),
            "call": f"{number(row[f'{other.measure}_s'])} s",
            "faster": ratio(ratios.get(row["pixels"])),
            "title": reference.title,
            "hardware": reference.hardware.get(line.value or "", ABSENT),
            "source": reference.source,
        }
        for sweep in found
        for reference, grid in references
        for other in sweeps([grid])
        for line in other.lines
        for ratios in (_ratios(other, line),)
        for row in line.timed(other.measure)
    ]


def elsewhere_told(rows: Sequence[Row]) -> str:
    """State whose the lines of other machines are."""
    titles = listing(dict.fromkeys(row["title"] for row in rows))
    return (
        f"Grey, hollow: other machines, measured elsewhere on work of their own ({titles}): "
        "compare shapes, not times."
    )


def _ratios(sweep: Sweep, line: Line) -> dict[int, float]:
    return {row["pixels"]: row["ratio"] for row in sweep.ratios(line, sweep.measure)}


def line_names(found: Sequence[Sweep]) -> list[str]:
    """Every line of any sweep, once, so that it has one colour everywhere."""
    return list(dict.fromkeys(line.name for sweep in found for line in sweep.lines))


def _times(row: Row, measure: str) -> Row:
    """Seconds of a call, and of each megapixel of it, with their intervals."""
    column = f"{measure}_s"
    each = ends_of("each_s", row, column, 1 / row["megapixels"])
    return ends_of("call_s", row, column) | each


def _written(row: Row, column: str, written: Any) -> str:
    return with_interval(*(written(row[f"{column}{end}"]) for end in WITH_ENDS))
