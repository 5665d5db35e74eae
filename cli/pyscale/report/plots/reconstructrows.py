"""Rows of how the components of a reconstruction scale over ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyscale.analysis.flags import flags_of
from pyscale.analysis.ranks.components import TOTAL
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.report.ranks.images import NAMES, Images, milliseconds
from pyscale.report.results import Results
from pyscale.report.wording import percent, ratio
from pyscale_stages.reconstruction import COMPONENTS

Row = dict[str, Any]
DRAWN = (TOTAL, *COMPONENTS)
"""Components in the order of legends. What one rank does not do has a speedup over several."""


def speedup_rows(results: Results) -> list[Row]:
    """Speedup of every component that has one, the baselines too."""
    found = results.of(ReconstructFindings)
    if found is None:
        return []
    images = Images.of(found)
    return [row for stage in images.names for row in _of_entry(images, stage)]


def _of_entry(images: Images, stage: str) -> Iterator[Row]:
    timed = [point for point in images.timed if point["stage"] == stage]
    found = {
        name: [(point, row) for point in timed if (row := images.component(point, name))["speedup"]]
        for name in DRAWN
    }
    drawn = [name for name in DRAWN if found[name]]
    for place, name in enumerate(drawn):
        for point, row in found[name]:
            yield {
                "curve": images.names[stage],
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
    found = results.of(ReconstructFindings)
    if found is None:
        return []
    images = Images.of(found)
    return [
        {
            "curve": images.names[point["stage"]],
            "part": NAMES[name],
            "order": DRAWN.index(name),
            "workers": point["workers"],
            "share": row["share"],
            "shared": percent(row["share"]),
            "took": f"{milliseconds(row['seconds'])} ms",
        }
        for point in images.timed
        for name in COMPONENTS
        if (row := images.component(point, name))["share"]
    ]


def _sure(row: Row) -> str:
    if row["speedup_low"] is None:
        return "none"
    return f"{ratio(row['speedup_low'])} to {ratio(row['speedup_high'])}"
