"""Tables of a grid, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.report.curves import Curve
from pyscale.report.grid.sweep import Sweep, codes
from pyscale.report.page.values import (
    CALL_PARTS,
    CONFIGURATIONS,
    POINTS,
    RATIOS,
    Cell,
    Columns,
    Row,
    Table,
    Writer,
    laid_out,
    numbers,
    words,
)
from pyscale.wording import ABSENT, percent, phase, ratio, score, seconds, titled

PUBLISHED = "Building the model and a call, mean +/- SD over calls"


def short(found: Sequence[Sweep]) -> Table | None:
    """Lay out the columns that a terminal has room for."""
    size, _ = _which(found)
    columns: Columns = [
        numbers("px", size[1]),
        words("on", lambda row: f"{_line(row)}{' !' * bool(row['result_doubted'])}"),
        numbers("a call s", lambda row: POINTS.interval_cell(row, f"{row['sweep'].measure}_s")),
        numbers("times\nas fast", _ratio),
        numbers("mega-\npixels/s", POINTS.plain("throughput_mp_s")),
        numbers("first\ncall s", POINTS.plain("first_s")),
        numbers("AP at\nIoU 0.5", POINTS.plain("beside_ap_iou50", score)),
    ]
    return laid_out("", _points(found), columns, head="stage")


def by_size(found: Sequence[Sweep]) -> Table | None:
    """Times, throughput and ratios of every point."""
    columns: Columns = [
        *_which(found),
        *POINTS.columns("trials", "steady_s", "throughput_mp_s"),
        RATIOS.column("ratio", _ratio),
        *POINTS.columns("first_s", "start_s"),
        POINTS.column("published_s", _published, means=PUBLISHED),
        *POINTS.columns("gpu_own_peak_bytes", "gpu_peak_bytes"),
        POINTS.column("flags", lambda row: (", ".join(codes(row)) or ABSENT,)),
        *POINTS.columns("warnings"),
    ]
    return laid_out("Every size", _points(found), columns, head="Stage")


def agreement(found: Sequence[Sweep]) -> Table | None:
    """How far outputs are those of what they are compared with, and how right they are."""
    columns: Columns = [
        *_which(found),
        *POINTS.columns("beside_ap_iou50", "beside_ap_iou90"),
        POINTS.column("objects", _objects),
        *POINTS.columns("beside_objects_base", "quality"),
    ]
    known = ("beside_ap_iou50", "quality")
    rows = (
        (name, row) for name, row in _points(found) if any(row[one] is not None for one in known)
    )
    return laid_out("Agreement of the outputs", rows, columns)


def call_parts(found: Sequence[Sweep]) -> Table | None:
    """Seconds and shares of the parts of a call, at every point."""
    parts = dict.fromkeys(
        row["part"] for one in found for point in one.points for row in point["parts"]
    )
    if not parts:
        return None
    columns: Columns = [*_which(found), *(numbers(phase(name), _part(name)) for name in parts)]
    return laid_out("Parts of a call (s), in brackets their share", _points(found), columns)


def processes(found: Sequence[Curve]) -> Table | None:
    """Whole processes of every point, from start to end."""
    columns = CONFIGURATIONS.columns(
        *("workers", "repeats", "wall_s", "peak_rss_bytes", "cache_state", "flags")
    )
    rows = ((curve.name, row) for curve in found for row in curve.rows)
    return laid_out("Whole processes", rows, columns)


def _points(found: Sequence[Sweep]) -> Iterator[tuple[str, Row]]:
    return ((sweep.name, row | {"sweep": sweep}) for sweep in found for row in sweep.points)


def _which(found: Sequence[Sweep]) -> Columns:
    versus = {sweep.grid.versus for sweep in found}
    name = (versus.pop() or "point") if len(versus) == 1 else "point"
    return [
        *POINTS.columns("length_px"),
        words(titled(name), _line),
    ]


def _line(row: Row) -> str:
    return str(row["line"])


def _ratio(row: Row) -> Cell:
    found = row["ratio"]
    return (ABSENT,) if found is None else RATIOS.interval_cell(found, "ratio", ratio)


def _objects(row: Row) -> Cell:
    if row["objects"] is None:
        return (ABSENT,)
    doubted = " (doubted)" if row["result_doubted"] else ""
    return (POINTS.value(row, "objects", f"{row['objects']:.0f}{doubted}"),)


def _published(row: Row) -> Cell:
    """Write a mean with its standard deviation, which is not an interval, and its calls."""
    if row["published_s"] is None:
        return (ABSENT,)
    mean, sd = (POINTS.cell(row, column) for column in ("published_s", "published_sd_s"))
    return (*mean, " +/- ", *sd, " (", *POINTS.cell(row, "published_calls", str), " calls)")


def _part(name: str) -> Writer:
    def write(row: Row) -> Cell:
        found = next((one for one in row["parts"] if one["part"] == name), None)
        if found is None:
            return (ABSENT,)
        share = CALL_PARTS.cell(found, "share", percent)
        return (*CALL_PARTS.cell(found, "part_s", seconds), " (", *share, ")")

    return write
