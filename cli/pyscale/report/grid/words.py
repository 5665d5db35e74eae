"""Names of the axes of a grid, their values, sizes and measures, in sentences, tables, charts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from pyscale.report.wording import ABSENT, listing, phase, with_interval

Row = dict[str, Any]
DEVICE = "device"
DEVICES = {"cpu": "CPU", "cuda": "GPU (CUDA)", "mps": "GPU (Metal)", "gpu": "GPU"}
MEASURES = {
    "steady": "a later call",
    "first": "the first call of a process",
    "fresh": "building the model and the first call",
    "published": "building the model and a call",
}
"""Timed calls, by the measure's name."""


def named(value: str | None) -> str:
    """Name a value of versus; devices have words."""
    return DEVICES.get(value or "", value or "")


def the(value: str | None) -> str:
    """Name it inside a sentence."""
    return f"the {DEVICES[value]}" if value in DEVICES else value or ""


def size(length_px: float) -> str:
    """Name the size of an image: the side of a square of as many pixels."""
    return f"{length_px:.0f} px"


def part(name: str) -> str:
    """Name a part of a call."""
    return phase(name)


def title(values: Collection[str], versus: str | None, kinds: Collection[str]) -> str:
    """Title of a grid, like "CPU against GPU, by size"."""
    if versus == DEVICE:
        gpus = [kind for kind in kinds if kind != "cpu"]
        told = ["CPU"] * ("cpu" in kinds) + ["GPU"] * bool(gpus)
        return f"{' against '.join(told)}, by size"
    if len(values) > 1:
        first, *others = values
        return f"{first} against {listing(others)}, by size"
    return "By size"


def ratio_title(bases: Iterable[str | None]) -> str:
    """Name an axis of ratios, by their baseline where that is one with a short name."""
    known = list(dict.fromkeys(bases))
    if len(known) == 1 and known[0] in DEVICES:
        return f"Times as fast as {the(known[0])}"
    return "Times as fast"


def plural(count: int, word: str) -> str:
    """Count something."""
    return f"{count} {word}{'s' * (count != 1)}"


def with_ends(row: Row, column: str, written: Callable[[float | None], str]) -> str:
    """Write a number of a row with its interval, where it has one."""
    return with_interval(*(written(row[f"{column}{end}"]) for end in ("", "_low", "_high")))


def objects(row: Row) -> str:
    """Write how many objects were found at a point, marked where a stage doubts its result."""
    if row["objects"] is None:
        return ABSENT
    return f"{row['objects']:.0f}{' (doubted)' if row['result_doubted'] else ''}"


def ends(rows: list[Row]) -> list[Row]:
    """The first and the last of rows in the order of sizes."""
    return rows if len(rows) < 2 else [rows[0], rows[-1]]
