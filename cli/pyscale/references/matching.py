"""Which references belong beside a report: the same stage, swept over the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyscale.analysis.grid.findings import GridFindings
from pyscale.references.model import Loaded, Reference, Referred

if TYPE_CHECKING:
    import polars as pl


def matching(
    references: Iterable[Loaded],
    configurations: pl.DataFrame,
    stages: Mapping[str, str] | None = None,
) -> list[Referred]:
    """Find what others measured of the reported stages, over numbers of workers too.

    Strong scaling stands beside strong scaling and weak beside weak, where both are known. A
    reference that is the very measurement reported, to the last digit at every N, is left out.

    Parameters
    ----------
    references : iterable of Loaded
    configurations : polars.DataFrame
        As reported; every `stage` is looked up.
    stages : mapping of str to str, optional
        The stage of pyscale behind each name in `configurations`, where the two differ, as in a
        suite that segments two channels.

    Returns
    -------
    list of Referred
        In the order of `references`; their stages in the order of the report.
    """
    import polars as pl

    names = configurations["stage"].unique(maintain_order=True)
    known = {name: (stages or {}).get(name, name) for name in names}
    found = []
    for loaded in references:
        wanted = [own for own, stage in loaded.reference.stages.items() if stage in known.values()]
        measured = loaded.configurations(wanted) if wanted else None
        if measured is None:
            continue
        beside = []
        for name, stage in known.items():
            reported = configurations.filter(stage=name)
            for label in wanted:
                curve = measured.filter(stage=label)
                if (
                    loaded.reference.stages[label] == stage
                    and _scale_alike(curve, reported)
                    and _times(curve) != _times(reported)
                ):
                    beside.append(curve.with_columns(label="stage", stage=pl.lit(name)))
        if beside:
            found.append(Referred(loaded.reference, pl.concat(beside)))
    return found


def matching_grids(
    references: Iterable[Loaded],
    grids: Sequence[GridFindings],
    stages: Mapping[str, str] | None = None,
) -> list[tuple[Reference, GridFindings]]:
    """Find what others measured of the stages of grids, against the same axis.

    A reference that is the very measurement reported, to the last digit, is left out.

    Parameters
    ----------
    references : iterable of Loaded
    grids : sequence of GridFindings
        As reported; every `family` is looked up.
    stages : mapping of str to str, optional
        The stage of pyscale behind each family, where the two differ.

    Returns
    -------
    list of tuple of Reference and GridFindings
        In the order of `references`. The `family` of the findings is that of the grid that they
        stand beside; in their tables it is the reference's own.
    """
    found = []
    for loaded in references:
        measured = loaded.grids() if grids else ()
        for grid in grids:
            stage = (stages or {}).get(grid.family, grid.family)
            found += [
                (loaded.reference, replace(other, family=grid.family))
                for other in measured
                if loaded.reference.stages.get(other.family) == stage
                and other.against == grid.against
                and _steady(other) != _steady(grid)
            ]
    return found


def _steady(grid: GridFindings) -> list[Any]:
    return sorted(grid.points.drop_nulls("steady_s").select("length_px", "steady_s").iter_rows())


def _scale_alike(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether both are of strong or both of weak scaling, as far as that is known."""
    kinds = [set(side["scaling"].drop_nulls()) for side in (one, other)]
    return not all(kinds) or bool(kinds[0] & kinds[1])


def _times(configurations: pl.DataFrame) -> dict[Any, Any]:
    return dict(configurations.select("workers", "wall_s").iter_rows())
