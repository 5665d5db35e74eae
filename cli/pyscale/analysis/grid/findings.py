"""Findings of one grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from pyscale.analysis.findings import PointFindings
from pyscale.analysis.grid.parts import PART_SCHEMA, call_parts, samples, unaided
from pyscale.analysis.grid.points import SIZE, grid_points, points_of, points_of_table
from pyscale.analysis.grid.ratios import Ceiling, Win, ceilings, ratios, wins


@dataclass(frozen=True)
class GridFindings(PointFindings):
    """Findings of one grid."""

    kind: ClassVar = "grid"
    work: ClassVar = "split"

    family: str
    """The entry of the suite with the grid; of a table its stage."""
    versus: str | None
    """The axis whose values are compared with its first (device)."""
    against: str | None
    """The one that results are drawn against (length_px)."""
    ratios: pl.DataFrame
    """Empty without versus."""
    ceilings: tuple[Ceiling, ...]
    """One for each curve of ratios over size, and none where `against` is no size; as `wins`."""
    wins: tuple[Win, ...]
    parts: pl.DataFrame
    """Empty where calls have no parts."""
    unaided: pl.DataFrame

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Points, ratios and parts of calls."""
        return {"points": self.points, "ratios": self.ratios, "parts": self.parts}


def grid_findings(
    tasks: pl.DataFrame,
    calls: pl.DataFrame,
    trials: pl.DataFrame,
    configurations: pl.DataFrame,
    *,
    versus: str | None,
    against: str | None,
    entries: Sequence[str] = (),
) -> tuple[GridFindings, ...]:
    """Find the results of each grid of a run; its base is versus' first value in the suite."""
    times = samples(calls, trials)
    found = []
    for points in points_of(tasks, entries).values():
        table = grid_points(
            *(tasks, calls, trials, configurations, times),
            points=points,
            versus=versus,
            against=against,
        )
        found.append(_found(table, times, call_parts(calls, table, trials), versus, against))
    return tuple(found)


def grid_findings_of_table(table: pl.DataFrame, name: str) -> tuple[GridFindings, ...]:
    """Find the results of a table of times by device and size, one `GridFindings` a stage."""
    points, times = points_of_table(table, name)
    return tuple(
        _found(own, times, pl.DataFrame(schema=PART_SCHEMA), "device", SIZE)
        for own in points.partition_by("family", maintain_order=True)
    )


def _found(
    points: pl.DataFrame,
    times: pl.DataFrame,
    parts: pl.DataFrame,
    versus: str | None,
    against: str | None,
) -> GridFindings:
    compared = ratios(points, times)
    by_size = against == SIZE
    return GridFindings(
        family=points["family"][0],
        versus=versus,
        against=against,
        points=points,
        ratios=compared,
        ceilings=tuple(ceilings(compared)) if by_size else (),
        wins=tuple(wins(compared)) if by_size else (),
        parts=parts,
        unaided=unaided(parts),
    )
