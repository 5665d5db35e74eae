"""Sentences on curves whose work grew with N: what grew, and what the numbers mean there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyscale.report import wording
from pyscale.report.curves import Curve
from pyscale.report.wording import amount, listing, ratio

Row = dict[str, Any]


def is_scaled(row: Row) -> bool:
    """Whether N workers had other work than the base case, so that work per second is compared."""
    return row["scaling"] in {"weak", "mixed"}


def work(curve: Curve) -> str | None:
    """State how the work grew and what speedup and efficiency are of; None where it is one work."""
    base = curve.base
    if base is None or not is_scaled(base):
        return None
    done = listing(f"{amount(row['work'])} at N = {row['workers']}" for row in curve.timed)
    if base["scaling"] == "weak":
        each = amount(base["work"] / base["workers"])
        return (
            f"Weak scaling: the work grew with N ({done}) and was {each} for each worker. Speedup "
            "is in work per second, and efficiency is the base case's wall time over that at N."
        )
    return (
        f"The work was neither the same at every N nor the same for each worker ({done}): speedup "
        "is in work per second."
    )


def faster(row: Row) -> str:
    """Say how much faster than the base case a configuration is, in what it can be compared by."""
    found = ratio(row["speedup"])
    if is_scaled(row):
        return f"{found} times the work per second of the base case"
    return f"{found} times as fast as the base case"


def beyond_work_s(row: Row, base: Row) -> float:
    """Worker-seconds beyond those that as much work held in the base case."""
    return float(row["worker_seconds"] - row["growth"] * base["worker_seconds"])


def held_against(row: Row) -> str:
    """Name what the worker-seconds are held against."""
    return "as much work in the base case" if is_scaled(row) else "the base case"


def serial_fractions(curve: Curve) -> str | None:
    """State Gustafson's serial fractions, where they are defined."""
    rows = [row for row in curve.timed if row["gustafson"] is not None and not row["invalid"]]
    if not rows:
        return None
    found = wording.serial_fractions(rows, "gustafson")
    return f"Serial fraction by Gustafson, of the time on N workers: {found}."


def not_compared(found: Sequence[Curve]) -> Iterator[str]:
    """Say of which curves outputs at different N cannot be compared, or their work."""
    curves = [curve for curve in found if curve.rows[0]["scaling"] == "weak"]
    if curves:
        where = "all stages" if len(curves) == len(found) else listing(c.name for c in curves)
        yield (
            f"{where}: whether the output is the same at every N. In weak scaling N workers have "
            "other frames than N0, so there is nothing to compare; how right it is, where the "
            "truth is known, is measured at the largest N alone."
        )
    yield from assumed_strong(found)


def assumed_strong(found: Sequence[Curve]) -> Iterator[str]:
    """Say of which curves the work is known at some N only."""
    for curve in found:
        unknown = [row["workers"] for row in curve.timed if row["work"] is None]
        if 0 < len(unknown) < len(curve.timed):
            yield (
                f"{curve.name}: the work at N = {listing(unknown)} is not known. Strong scaling is "
                "assumed: speedups are as if the work were the same at every N."
            )


def speedup_title(found: Sequence[Curve]) -> str:
    """Name what a figure of these curves shows as speedup."""
    scaled = any(is_scaled(row) for curve in found for row in curve.rows)
    return f"{'Scaled speedup' if scaled else 'Speedup'} over the base case"


def legend(found: Sequence[Curve]) -> str | None:
    """Say in one line what the speedups of a table or figure are of; None where it is plain."""
    kinds = {row["scaling"] for curve in found for row in curve.rows}
    if "mixed" in kinds:
        return "The work is not the same at every N: speedup is in work per second."
    if "weak" in kinds:
        return (
            "Weak scaling, as much work for each worker at every N: speedup is in work per second."
        )
    return None
