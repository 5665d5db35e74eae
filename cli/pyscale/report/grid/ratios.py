"""Sentences on one value of versus against another: how much, from which size on, and how far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyscale.analysis.grid.parts import UNATTRIBUTED
from pyscale.report.grid.sweep import Line, Sweep
from pyscale.report.grid.words import MEASURES, Row, part, plural, size, the
from pyscale.report.wording import listing, number, percent, ratio

if TYPE_CHECKING:
    from pyscale.analysis.grid.ceiling import Ceiling
    from pyscale.analysis.grid.wins import Win

MOST_PARTS = 3
"""More parts of a call are counted and not named."""


def compared(sweep: Sweep) -> Iterator[str]:
    """State ratios, where they begin to win and where they end, of what was timed apart."""
    for line in sweep.compared:
        yield from _of_measure(sweep, line, sweep.measure)
        if sweep.ratios(line, "published"):
            yield from _of_measure(sweep, line, "published")


def _of_measure(sweep: Sweep, line: Line, measure: str) -> Iterator[str]:
    rows = sweep.ratios(line, measure)
    what = "" if measure == "steady" else f" in {MEASURES[measure]}"
    ends = [rows[-1], rows[0]] if len(rows) > 1 else rows
    told = "; ".join(faster(row) for row in ends)
    yield f"{line.name}{what}: {told}."
    win = sweep.win(line, measure)
    if win is not None:
        yield f"{line.name}{what} is {where_it_wins(win)}{_how_sure(win)}."
    found = sweep.ceiling(line, measure)
    if found is not None:
        yield f"{line.name}{what}: {where_it_ends(found)}"


def faster(row: Row) -> str:
    """State a ratio with both its times, as sure as it is."""
    base = the(row["base"])
    times = f"{number(row['value_s'])} s instead of {number(row['base_s'])} s"
    if row["ratio_low"] is None:
        sure = "no 95 % interval"
    else:
        sure = f"95 % interval {ratio(row['ratio_low'])} to {ratio(row['ratio_high'])}"
    if row["ratio_low"] is not None and row["ratio_low"] <= 1 <= row["ratio_high"]:
        return (
            f"indistinguishable from {base} at {size(row['length_px'])} "
            f"(ratio {ratio(row['ratio'])}, {sure}; {times})"
        )
    return (
        f"{ratio(row['ratio'])} times as fast as {base} at {size(row['length_px'])} "
        f"({sure}; {times})"
    )


def where_it_wins(win: Win) -> str:
    """Say at which measured sizes it is faster than its base."""
    base = the(win.base)
    if win.from_px is None:
        return f"faster than {base} at no measured size"
    if win.not_at_px is None:
        if win.smallest_px == win.largest_px:
            return f"faster than {base} at the only measured size, {size(win.from_px)}"
        return f"faster than {base} at every measured size, {size(win.from_px)} and more"
    return f"faster than {base} from {size(win.from_px)} on, not at {size(win.not_at_px)}"


def _how_sure(win: Win) -> str:
    if win.from_px is None or win.sure:
        return ""
    return " (not all of these sizes have a 95 % interval)"


def where_it_ends(found: Ceiling) -> str:
    """State whether the ratio flattens and at which value."""
    if found.refused is not None or found.ceiling is None:
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


def in_short(found: Ceiling) -> str:
    """The same, short enough for the first screen."""
    if found.refused is not None or found.ceiling is None:
        few = plural(found.sizes, "size")
        return f"no ceiling from {few}"
    if found.shape == "logarithmic":
        return f"no ceiling up to {size(found.largest_px)}"
    known = f"{ratio(found.ceiling)} [{ratio(found.low)}, {ratio(found.high)}]"
    if found.shape == "undecided":
        return f"perhaps flattens at {known}"
    return f"flattens at {known}"


def bound(sweep: Sweep) -> Iterator[str]:
    """State the parts of a call that are not sped up at the largest size, and their bound."""
    for line in sweep.compared:
        point = line.timed(sweep.measure)[-1]
        found, parts = sweep.unaided(point), sweep.parts(point)
        if found is None:
            continue
        at = f"a call on {the(line.value)} at {size(point['length_px'])}"
        helped = [
            row
            for row in sorted(parts, key=lambda row: -(row["base_s"] or 0.0))
            if row["part"] not in (*found["parts"], UNATTRIBUTED) and row["part_ratio"] is not None
        ][:MOST_PARTS]
        if helped:
            told = listing(f"{part(row['part'])} {ratio(row['part_ratio'])}" for row in helped)
            yield f"Sped up in {at}: {told} times as fast as on {the(line.base)}."
        if found["bound"] is None:
            yield f"Every part of {at} is faster than on {the(line.base)}."
            continue
        yield (
            f"{percent(found['share'])} of {at} ({number(found['unaided_s'])} of "
            f"{number(found['call_s'])} s) is in parts that are not sped up: "
            f"{unaided_parts(found)}. They limit it to {ratio(found['bound'])} times as fast as "
            f"{the(line.base)}."
        )


def unaided_parts(found: Row) -> str:
    """Name the longest parts that are not sped up, and count the others."""
    names = [part(name) for name in found["parts"]]
    rest = len(names) - MOST_PARTS
    shown = names[:MOST_PARTS] + ([plural(rest, "smaller one")] if rest > 0 else [])
    return listing(shown)


def shares(sweep: Sweep) -> Iterator[str]:
    """Name the largest parts of a call at the largest size, line by line."""
    for line in sweep.lines:
        timed = line.timed(sweep.measure)
        if timed and (told := mostly(sweep, timed[-1])):
            yield f"{line.name} at {size(timed[-1]['length_px'])}: {told}."


def mostly(sweep: Sweep, point: Row) -> str:
    """Name the largest parts of a call with their shares; empty where they are not known."""
    largest = sorted(sweep.parts(point), key=lambda row: -row["share"])[:MOST_PARTS]
    return listing(f"{part(row['part'])} {percent(row['share'])}" for row in largest)
