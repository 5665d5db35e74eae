"""Sentences on agreement, device memory and energy of a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyscale.report.grid.sweep import Line, Sweep
from pyscale.report.grid.words import Row, ends, size, the
from pyscale.report.wording import gib, listing, number, score


def agreement(sweep: Sweep) -> Iterator[str]:
    """State the agreement of each line's output with its baseline's."""
    for line in sweep.compared:
        known = [row for row in line.points if row["beside_ap_iou50"] is not None]
        if not known:
            yield f"{line.name}: output not compared with that of {the(line.base)}."
            continue
        told = listing(
            _lowest(known, column, f"at an IoU of {iou}")
            for column, iou in (("beside_ap_iou50", "0.5"), ("beside_ap_iou90", "0.9"))
            if any(row[column] is not None for row in known)
        )
        yield (
            f"{line.name}: average precision against the output of {the(line.base)}: "
            f"{told}.{_counts(line, known)}"
        )


def _lowest(rows: list[Row], column: str, what: str) -> str:
    known = [row for row in rows if row[column] is not None]
    worst = min(known, key=lambda row: float(row[column]))
    if all(row[column] == worst[column] for row in known):
        where = "at every size" if len(known) > 1 else f"at {size(worst['length_px'])}"
        return f"{score(worst[column])} {what} {where}"
    return f"{score(worst[column])} or more {what} (lowest at {size(worst['length_px'])})"


def _counts(line: Line, known: list[Row]) -> str:
    """Objects of both at the size where they differ most; at the largest where they never do."""
    counted = [
        row for row in known if None not in (row["beside_objects"], row["beside_objects_base"])
    ]
    if not counted:
        return ""
    differ = max(
        reversed(counted), key=lambda row: abs(row["beside_objects"] - row["beside_objects_base"])
    )
    return (
        f" At {size(differ['length_px'])} it finds {differ['beside_objects']:.0f} objects, "
        f"{the(line.base)} {differ['beside_objects_base']:.0f}."
    )


def device_memory(sweep: Sweep) -> Iterator[str]:
    """State the peak memory on the device at the smallest and the largest size."""
    for line in sweep.lines:
        for column, whose in (
            ("gpu_own_peak_bytes", "process"),
            ("gpu_peak_bytes", "whole device"),
        ):
            told = _over_sizes(line, column, lambda held: f"{gib(round(held))} GiB")
            if told:
                yield f"{line.name}: peak device memory ({whose}): {told}."
                break


def energy(sweep: Sweep) -> Iterator[str]:
    """State the energy of a task, where a counter measured it."""
    for line in sweep.lines:
        for column, whose in (("gpu_energy_j", "the GPU"), ("cpu_energy_j", "the processors")):
            told = _over_sizes(line, column, lambda joules: f"{number(joules)} J")
            if told:
                yield f"{line.name}: energy of {whose} per task: {told}."


def _over_sizes(line: Line, column: str, written: Callable[[Any], str]) -> str:
    known = [row for row in line.points if row[column] is not None]
    return listing(f"{written(row[column])} at {size(row['length_px'])}" for row in ends(known))
