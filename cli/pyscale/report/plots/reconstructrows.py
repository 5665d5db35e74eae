"""Rows of how the components of a reconstruction scale over ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyscale.analysis.flags import flags_of
from pyscale.report.reconstruct.cells import milliseconds
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.words import NAMES, TOTAL
from pyscale.report.results import Results
from pyscale.report.wording import percent, ratio
from pyscale_stages.reconstruction import COMPONENTS

Row = dict[str, Any]
DRAWN = (TOTAL, *COMPONENTS)
"""Components in the order of legends. What one rank does not do has a speedup over several."""


def speedup_rows(results: Results) -> list[Row]:
    """Speedup of every component that has one, the baselines too."""
    if results.reconstruct is None:
        return []
    parts = Parts.of(results.reconstruct)
    return [row for stage in parts.names for row in _of_entry(parts, stage)]


def _of_entry(parts: Parts, stage: str) -> Iterator[Row]:
    timed = [point for point in parts.timed if point["stage"] == stage]
    found = {
        name: [(point, row) for point in timed if _has_speedup(row := parts.component(point, name))]
        for name in DRAWN
    }
    drawn = [name for name in DRAWN if found[name]]
    for place, name in enumerate(drawn):
        for point, row in found[name]:
            yield {
                "curve": parts.names[stage],
                "line": NAMES[name],
                # In steps beside N, so that no mark hides another.
                "aside": place - (len(drawn) - 1) / 2,
                "workers": point["workers"],
                "ideal": point["workers"] / point["baseline_workers"],
                **{f"speedup{end}": row[f"speedup{end}"] for end in ("", "_low", "_high")},
                "speed": f"{ratio(row['speedup'])} times",
                "sure": _sure(row),
                "efficient": ratio(row["efficiency"]),
                "normalised": ratio(row["normalised_efficiency"]),
                "took": f"{milliseconds(row['seconds'])} ms",
                "shared": percent(row["share"]),
                "doubts": ", ".join(flags_of(row)) or "none",
            }


def share_rows(results: Results) -> list[Row]:
    """Share of every component of an iteration, in the order in which bars stack them."""
    if results.reconstruct is None:
        return []
    parts = Parts.of(results.reconstruct)
    return [
        {
            "curve": parts.names[point["stage"]],
            "part": NAMES[name],
            "order": DRAWN.index(name),
            "workers": point["workers"],
            "share": row["share"],
            "shared": percent(row["share"]),
            "took": f"{milliseconds(row['seconds'])} ms",
        }
        for point in parts.timed
        for name in COMPONENTS
        if (row := parts.component(point, name))["share"]
    ]


def _has_speedup(row: Row) -> bool:
    return row["speedup"] is not None


def _sure(row: Row) -> str:
    if row["speedup_low"] is None:
        return "none"
    return f"{ratio(row['speedup_low'])} to {ratio(row['speedup_high'])}"
