"""Findings of one grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from pyscale.analysis.findings import PointFindings
from pyscale.analysis.grid.axes import SIZE, points_of
from pyscale.analysis.grid.ceiling import Ceiling, ceilings
from pyscale.analysis.grid.parts import call_parts, part_schema, unaided
from pyscale.analysis.grid.points import grid_points
from pyscale.analysis.grid.samples import samples
from pyscale.analysis.grid.tablepoints import points_of_table
from pyscale.analysis.grid.versus import ratios, sharing
from pyscale.analysis.grid.wins import Win, wins


@dataclass(frozen=True)
class GridFindings(PointFindings):
    """Findings of one grid.

    Attributes
    ----------
    family : str
        The entry of the suite with the grid; of a table its stage.
    versus, against : str or None
        The axis whose values are compared with its first (device), and the one that results are
        drawn against (length_px).
    points : polars.DataFrame
        See `pyscale.analysis.grid.points.point_schema`.
    ratios : polars.DataFrame
        See `pyscale.analysis.grid.versus.ratio_schema`; empty without versus.
    ceilings : tuple of Ceiling
        One for each curve of ratios over size, with why where there is none; empty where
        `against` is no size.
    wins : tuple of Win
        One for each of the same curves.
    parts : polars.DataFrame
        See `pyscale.analysis.grid.parts.part_schema`; empty where calls have no parts.
    unaided : polars.DataFrame
        Parts that each value of versus does not speed up, and their bound; see
        `pyscale.analysis.grid.parts.unaided`.
    sharing : polars.DataFrame
        Throughput of N workers over that of one; see
        `pyscale.analysis.grid.versus.sharing_schema`.
    """

    kind: ClassVar = "grid"
    work: ClassVar = "split"

    family: str
    versus: str | None
    against: str | None
    ratios: pl.DataFrame
    ceilings: tuple[Ceiling, ...]
    wins: tuple[Win, ...]
    parts: pl.DataFrame
    unaided: pl.DataFrame
    sharing: pl.DataFrame

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
    """Find the results of each grid of a run.

    Parameters
    ----------
    tasks, calls : polars.DataFrame
        As `pyscale.store.tables` describes them.
    trials, configurations : polars.DataFrame
        As `trial_table` and `configurations` give them for these tasks.
    versus, against : str or None
        As the suite says.
    entries : sequence of str
        Entries of the unfolded suite in their order: the first value of versus in it is the base.

    Returns
    -------
    tuple of GridFindings
        In the order of the suite; none where no entry has a grid.
    """
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
    """Find the results of a table of times by device and size, one `GridFindings` a stage.

    Parameters
    ----------
    table : polars.DataFrame
        As `pyscale.report.sizetable.read_sizes` gives it (see
        `pyscale.analysis.grid.tablepoints.points_of_table`).
    name : str
        What to call the table; the family of rows without a stage too.
    """
    points, times = points_of_table(table, name)
    return tuple(
        _found(own, times, pl.DataFrame(schema=part_schema()), "device", SIZE)
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
        sharing=sharing(points, times),
    )
