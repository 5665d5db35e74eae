"""Sentences on curves whose work grew with N."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyscale.report.curves import Curve
from pyscale.wording import amount, listing

Row = dict[str, Any]


def is_scaled(row: Row) -> bool:
    """Whether N workers had other work than the baseline, so that work per second is compared."""
    return row["scaling"] in {"weak", "mixed"}


def work(curve: Curve) -> str | None:
    """State how the work grew, and what speedup and efficiency compare; None where it did not."""
    base = curve.base
    if base is None or not is_scaled(base):
        return None
    done = listing(f"{amount(row['work'])} at N = {row['workers']}" for row in curve.timed)
    if base["scaling"] == "weak":
        each = amount(base["work"] / base["workers"])
        return (
            f"Weak scaling: the work grew with N ({done}), {each} per worker. Speedup compares "
            "work per second; efficiency is the baseline's wall time over that at N."
        )
    return (
        f"Neither the work nor the work per worker was the same at every N ({done}): speedup "
        "compares work per second."
    )


def assumed_strong(found: Sequence[Curve]) -> Iterator[str]:
    """Name the curves whose work is known at some N only."""
    for curve in found:
        unknown = [row["workers"] for row in curve.timed if row["work"] is None]
        if 0 < len(unknown) < len(curve.timed):
            yield (
                f"{curve.name}: the work at N = {listing(unknown)} is unknown; speedups assume "
                "strong scaling (the same work at every N)."
            )


def speedup_title(found: Sequence[Curve]) -> str:
    """Title of a figure of speedups of these curves."""
    scaled = any(is_scaled(row) for curve in found for row in curve.rows)
    return f"{'Scaled speedup' if scaled else 'Speedup'} over the baseline"


def legend(found: Sequence[Curve]) -> str | None:
    """State in one line what scaled speedups compare; None where none is scaled."""
    kinds = {row["scaling"] for curve in found for row in curve.rows}
    told = "speedup compares work per second."
    if "mixed" in kinds:
        return f"The work differs between N: {told}"
    weak = f"Weak scaling (the same work per worker at every N): {told}"
    return weak if "weak" in kinds else None
