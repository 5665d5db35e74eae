"""Stacked bars in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyscale.report.wording import listing


def largest_parts(
    rows: Sequence[Mapping[str, Any]],
    panel: str,
    along: str,
    at: Callable[[Mapping[str, Any]], str],
) -> str:
    """State the largest parts at the end of each panel of stacked bars.

    Parameters
    ----------
    rows : sequence of mapping
        One a part, with `part`, `share` and `shared`.
    panel, along : str
        Columns of the panel and of the axis, of which the largest value is told of.
    at : callable
        That value of a row, in words.
    """
    told = []
    for name in dict.fromkeys(row[panel] for row in rows):
        own = [row for row in rows if row[panel] == name]
        most = max(row[along] for row in own)
        parts = sorted((row for row in own if row[along] == most), key=lambda row: -row["share"])
        largest = listing(f"{row['part']} {row['shared']}" for row in parts[:3])
        told.append(f"{name} at {at(parts[0])}: {largest}.")
    return " ".join(told)
