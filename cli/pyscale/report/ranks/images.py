"""Reconstructed images at each N, the components of their iterations, and names of both."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.report.dictionary import labels
from pyscale.report.page.values import Row
from pyscale.wording import number, titled

NAMES = labels("components")
"""Every component as sentences, tables, legends and the tips of charts call it."""
MILLI = 1e-3


def images(findings: ReconstructFindings) -> list[Row]:
    """Give a row an entry at one N, with the entry's `name` and its `components` by theirs."""
    points = findings.points.to_dicts()
    components: dict[tuple[str, int], dict[str, Row]] = {}
    for row in findings.scaling.to_dicts():
        components.setdefault((row["stage"], row["workers"]), {})[row["component"]] = row
    titles = {row["stage"]: _title(row) for row in points}
    told = list(titles.values())
    names = {
        stage: title if told.count(title) == 1 else f"{title} ({stage})"
        for stage, title in titles.items()
    }
    return [
        row | {"name": names[stage], "components": components[stage, row["workers"]]}
        for row in points
        for stage in (row["stage"],)
    ]


def timed(points: Sequence[Row]) -> list[Row]:
    """Points of which a trial counts."""
    return [row for row in points if row["wall_s"] is not None]


def problem(name: str | None) -> str:
    """Name a problem in words, with a capital."""
    return titled(labels("problems").get(name or "", name or "reconstruction"))


def _title(row: Row) -> str:
    size = "" if row["size_px"] is None else f", {row['size_px']} px"
    return f"{problem(row['problem'])}{size}"


def milliseconds(value: float | None) -> str:
    """Write a time in milliseconds, the unit of all times of an iteration."""
    return number(None if value is None else value / MILLI)
