"""The page's tables of a grid, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyscale.report.curves import Curve
from pyscale.report.grid.sweep import Sweep
from pyscale.report.grid.times import mean_and_sd
from pyscale.report.grid.trust import codes
from pyscale.report.grid.words import Row, objects, part
from pyscale.report.page.table import Column, Group, Line, Table, laid_out
from pyscale.report.page.tables import WORKERS
from pyscale.report.page.values import (
    CALL_PART,
    POINT,
    RATIO,
    Cell,
    cell,
    interval_of,
    value_of,
    with_interval,
)
from pyscale.report.wording import ABSENT, gib, number, percent, ratio, score, seconds

OfPoint = Callable[[Sweep, Row], Cell]
"""What a column shows of one point."""


def by_size(found: Sequence[Sweep]) -> Table | None:
    """Times, throughput and ratios of every point."""
    return _laid_out(
        "Every size",
        found,
        [
            *_which(found),
            (Column(name="Trials", means="Timed trials"), _plain("trials", str)),
            (
                Column(name="A call (s)", means="Median over trials; 95 % interval"),
                _interval("steady_s", number),
            ),
            (
                Column(name="Megapixels/s", means="Of all workers together; 95 % interval"),
                _interval("throughput_mp_s", number),
            ),
            (
                Column(name="Times as fast", means="As what it is compared with; 95 % interval"),
                _ratio,
            ),
            (
                Column(name="First call (s)", means="Of a process; 95 % interval"),
                _interval("first_s", number),
            ),
            (
                Column(name="Building the model (s)", means="Before the first call"),
                _interval("start_s", number),
            ),
            (
                Column(
                    name="Published protocol (s)",
                    means="Building the model and a call, mean +/- SD over calls",
                ),
                _published,
            ),
            (
                Column(name="Device memory (GiB)", means="Peak of the process itself"),
                _plain("gpu_own_peak_bytes", _gib),
            ),
            (
                Column(name="Energy of the GPU (J)", means="Over a task"),
                _plain("gpu_energy_j", number),
            ),
            (
                Column(name="Flags", means="Doubts, explained below", is_text=True),
                lambda _, row: (", ".join(codes(row)) or ABSENT,),
            ),
            (
                Column(name="Warnings", means="Of the stage; explained at the top", is_text=True),
                lambda _, row: (", ".join(row["warnings"] or []) or ABSENT,),
            ),
        ],
    )


def agreement(found: Sequence[Sweep]) -> Table | None:
    """How far outputs are those of what they are compared with, and how right they are."""
    known = ("beside_ap_iou50", "quality")
    return _laid_out(
        "Agreement of the outputs",
        found,
        [
            *_which(found),
            (
                Column(name="AP at IoU 0.5", means="Against the output it is compared with"),
                _plain("beside_ap_iou50", score),
            ),
            (Column(name="AP at IoU 0.9", means="The same"), _plain("beside_ap_iou90", score)),
            (Column(name="Objects", means="Found here"), _objects),
            (
                Column(name="Objects compared with", means="Found there"),
                _plain("beside_objects_base", "{:.0f}".format),
            ),
            (
                Column(name="AP against the truth", means="At an IoU of 0.5; median over trials"),
                _plain("quality", number),
            ),
        ],
        only=lambda row: any(row[column] is not None for column in known),
    )


def call_parts(found: Sequence[Sweep]) -> Table | None:
    """Seconds and shares of the parts of a call, at every point."""
    names = list(
        dict.fromkeys(row["part"] for one in found for p in one.points for row in one.parts(p))
    )
    columns = [(Column(name=part(name)), _part(name)) for name in names]
    if not columns:
        return None
    return _laid_out(
        "Parts of a call (s), in brackets their share", found, [*_which(found), *columns]
    )


def processes(found: Sequence[Curve]) -> Table | None:
    """Whole processes of every point, from start to end."""
    return laid_out(
        "Whole processes",
        found,
        [
            (WORKERS, lambda row: cell(row, "workers", str)),
            (Column(name="Trials"), lambda row: cell(row, "repeats", str)),
            (Column(name="Wall time (s)"), lambda row: with_interval(row, "wall_s", number)),
            (
                Column(name="Peak memory (GiB)"),
                lambda row: cell(row, "peak_rss_bytes", gib),
            ),
            (Column(name="Page cache", is_text=True), lambda row: (row["cache_state"] or ABSENT,)),
            (
                Column(name="Flags", is_text=True),
                lambda row: (", ".join(row["flags"]) or ABSENT,),
            ),
        ],
        rows=lambda curve: curve.rows,
    )


def _which(found: Sequence[Sweep]) -> list[tuple[Column, OfPoint]]:
    """Columns that name a point."""
    versus = {sweep.grid.versus for sweep in found}
    name = (versus.pop() or "point") if len(versus) == 1 else "point"
    return [
        (
            Column(name="Size (px)", means="Side of a square of as many pixels"),
            lambda _, row: (value_of("points", POINT, row, "length_px", _px(row["length_px"])),),
        ),
        (
            Column(name=f"{name[:1].upper()}{name[1:]}", is_text=True),
            lambda sweep, row: (sweep.line_of(row),),
        ),
    ]


def _laid_out(
    caption: str,
    found: Sequence[Sweep],
    columns: Sequence[tuple[Column, OfPoint]],
    *,
    only: Callable[[Row], bool] = lambda _: True,
) -> Table | None:
    """Lay out points; columns of which nothing is known are left out."""
    cells = [
        (sweep.name, [[write(sweep, row) for _, write in columns], row["invalid"]])
        for sweep in found
        for row in sweep.points
        if only(row)
    ]
    if not cells:
        return None
    known = [
        place
        for place, (column, _) in enumerate(columns)
        if column.is_text or any(line[0][place] != (ABSENT,) for _, line in cells)
    ]
    groups = tuple(
        Group(
            name=sweep.name,
            lines=tuple(
                Line(cells=tuple(line[0][place] for place in known), is_invalid=bool(line[1]))
                for name, line in cells
                if name == sweep.name
            ),
        )
        for sweep in found
    )
    return Table(
        caption=caption,
        columns=tuple(columns[place][0] for place in known),
        groups=tuple(group for group in groups if group.lines),
    )


def _plain(column: str, written: Callable[[Any], str]) -> OfPoint:
    def write(_: Sweep, row: Row) -> Cell:
        text = ABSENT if row[column] is None else written(row[column])
        return (value_of("points", POINT, row, column, text),)

    return write


def _objects(_: Sweep, row: Row) -> Cell:
    return (value_of("points", POINT, row, "objects", objects(row)),)


def _interval(column: str, written: Callable[[Any], str]) -> OfPoint:
    return lambda _, row: interval_of("points", POINT, row, column, written)


def _ratio(sweep: Sweep, row: Row) -> Cell:
    found = sweep.ratio_of(row)
    return (ABSENT,) if found is None else interval_of("ratios", RATIO, found, "ratio", ratio)


def _published(_: Sweep, row: Row) -> Cell:
    if row["published_s"] is None:
        return (ABSENT,)
    mean, sd = mean_and_sd(row).split(" +/- ")
    return (
        value_of("points", POINT, row, "published_s", mean),
        " +/- ",
        value_of("points", POINT, row, "published_sd_s", sd),
    )


def _part(name: str) -> OfPoint:
    def write(sweep: Sweep, row: Row) -> Cell:
        found = next((one for one in sweep.parts(row) if one["part"] == name), None)
        if found is None:
            return (ABSENT,)
        return (
            value_of("parts", CALL_PART, found, "part_s", seconds(found["part_s"])),
            " (",
            value_of("parts", CALL_PART, found, "share", percent(found["share"])),
            ")",
        )

    return write


def _px(length_px: float | None) -> str:
    return ABSENT if length_px is None else f"{length_px:.0f}"


def _gib(size_bytes: float) -> str:
    return gib(round(size_bytes))
