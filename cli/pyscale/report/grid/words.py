"""What a grid is told with: names of values, sizes and measures, where a ratio wins and ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from pyscale.analysis.grid.bysize import Ceiling, Win
from pyscale.report.wording import plural, ratio

T = TypeVar("T")
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


def ratio_title(bases: Iterable[str | None]) -> str:
    """Name an axis of ratios, by their baseline where that is one with a short name."""
    known = list(dict.fromkeys(bases))
    if len(known) == 1 and known[0] in DEVICES:
        return f"Times as fast as {the(known[0])}"
    return "Times as fast"


def ends(rows: list[T]) -> list[T]:
    """The first and the last of what is in order."""
    return rows if len(rows) < 2 else [rows[0], rows[-1]]


def where_it_wins(win: Win) -> str:
    """Say at which measured sizes it is faster than its base."""
    base, unsure = the(win.base), " (not all of these sizes have a 95 % interval)"
    if win.from_px is None:
        return f"faster than {base} at no measured size"
    if win.not_at_px is not None:
        told = f"from {size(win.from_px)} on, not at {size(win.not_at_px)}"
    elif win.smallest_px == win.largest_px:
        told = f"at the only measured size, {size(win.from_px)}"
    else:
        told = f"at every measured size, {size(win.from_px)} and more"
    return f"faster than {base} {told}{'' if win.sure else unsure}"


def where_it_ends(found: Ceiling) -> str:
    """State whether the ratio flattens and at which value."""
    if found.ceiling is None:
        return f"No ceiling: {found.refused}"
    over = f"{plural(found.sizes, 'size')} up to {size(found.largest_px)}"
    if found.shape == "logarithmic":
        return (
            f"Over {over} the ratio grows with the logarithm of the size, without a ceiling; "
            f"at {size(found.largest_px)} it is {ratio(found.largest_ratio)}."
        )
    known = f"{ratio(found.ceiling)} (95 % interval {ratio(found.low)} to {ratio(found.high)})"
    if found.shape == "undecided":
        return (
            f"{over} do not settle whether the ratio flattens or keeps growing; if it flattens, "
            f"then at {known}."
        )
    half = "" if found.half_px is None else f", and half of that at {size(found.half_px)}"
    return (
        f"The ratio flattens: over {over} it approaches {known}{half}; at "
        f"{size(found.largest_px)} it is {ratio(found.largest_ratio)}."
    )


def flattens(found: Ceiling) -> str:
    """The same in few words."""
    if found.ceiling is None:
        return f"no ceiling from {plural(found.sizes, 'size')}"
    if found.shape == "logarithmic":
        return f"no ceiling up to {size(found.largest_px)}"
    perhaps = "perhaps " if found.shape == "undecided" else ""
    return f"{perhaps}flattens at {ratio(found.ceiling)} [{ratio(found.low)}, {ratio(found.high)}]"
