"""References for a report: of the same work, or asked for by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.machine.sidebyside import device_names
from pyscale.references.model import Loaded, Reference, Referred, ReferredTests

NONE = "none"
"""Instead of a reference's name: no reference at all."""


def shown_beside(
    references: Iterable[Loaded],
    work_id: str | None,
    *,
    asked: Collection[str] = (),
    sizes: Collection[str] = (),
) -> list[Loaded]:
    """Choose references of the same work and those that are asked for by name.

    Parameters
    ----------
    references : iterable of Loaded
    work_id : str or None
        Fingerprint of the reported work; None where it is not known.
    asked : collection of str
        Names; `NONE` among them chooses nothing.
    sizes : collection of str
        Fingerprints of sizes of reported tests of a machine.
    """
    if NONE in asked:
        return []
    return [
        one
        for one in references
        if one.reference.name in asked or one.reference.is_same_work(work_id, sizes)
    ]


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


SWEEP = "num_workers"
SETTINGS = ("num_workers", "pool_size", "patches_per_slide", "patches_per_visit")
RATES = ("effective_patches_per_s", "aggregate_patches_per_s", "slowest_patches_per_s")


def matching_loading(
    references: Iterable[Loaded], points: pl.DataFrame
) -> list[tuple[Reference, pl.DataFrame]]:
    """Find what others measured with the settings of configurations that are reported.

    Such a reference gives N times its slowest rank as its effective rate, so that N follows.

    Parameters
    ----------
    references : iterable of Loaded
    points : polars.DataFrame
        As reported (see `pyscale.analysis.ranks.loader.LoaderFindings`).

    Returns
    -------
    list of tuple of Reference and polars.DataFrame
        In the order of `references`: `stage` and `workers` of the configuration in the report,
        and `RATES` of the reference.
    """
    found = []
    for loaded in references:
        table = loaded.table
        if loaded.reference.sweep != SWEEP or not {*SETTINGS, *RATES} <= set(table.columns):
            continue
        ranks = pl.col("effective_patches_per_s") / pl.col("slowest_patches_per_s")
        published = table.with_columns(
            pl.col(SETTINGS).cast(pl.Int64), workers=ranks.round().cast(pl.Int64)
        )
        same = points.select("stage", "workers", *SETTINGS).join(
            published, on=[*SETTINGS, "workers"], how="inner", maintain_order="left"
        )
        if not same.is_empty():
            found.append((loaded.reference, same.select("stage", "workers", *RATES)))
    return found


_CELL = ("kind", "_device", "test", "at_once", "step")


def matching_tests(references: Iterable[Loaded], tests: pl.DataFrame) -> list[ReferredTests]:
    """Find what others measured of the reported tests, on the same kind of device.

    A reference that names no stages is matched by the names of its tests. One that is the very
    measurement reported, to the last digit of every time, is left out.

    Parameters
    ----------
    references : iterable of Loaded
    tests : polars.DataFrame
        As reported, of one run (see `pyscale.analysis.machine.tests.machine_tests`).

    Returns
    -------
    list of ReferredTests
        In the order of `references`; each with its rows of reported tests alone.
    """
    own = _placed(tests)
    kinds = own.select("test", _kind="kind").unique(subset="test", maintain_order=True)
    found = []
    for loaded in references:
        measured = loaded.tests()
        if measured is None:
            continue
        known = measured.join(kinds, on="test", how="left", maintain_order="left").with_columns(
            kind=pl.coalesce("kind", "_kind")
        )
        named = ["kind", "_device", "test"]
        beside = _placed(known).join(
            own.select(named).unique(), on=named, how="semi", maintain_order="left"
        )
        if not beside.is_empty() and not _is_the_same(beside, own):
            columns = beside.select(tests.columns)
            found.append(ReferredTests(loaded.reference, columns))
    return found


def _placed(tests: pl.DataFrame) -> pl.DataFrame:
    """Say of each test what kind of device did it, whatever its name."""
    devices = pl.DataFrame(
        list(device_names(tests["device"].unique(maintain_order=True)).items()),
        schema={"device": pl.String, "_device": pl.String},
        orient="row",
    )
    return tests.join(devices, on="device", how="left", nulls_equal=True, maintain_order="left")


def _is_the_same(beside: pl.DataFrame, own: pl.DataFrame) -> bool:

    both = beside.drop_nulls("wall_s").join(
        own.drop_nulls("wall_s"), on=_CELL, nulls_equal=True, suffix="_own"
    )
    return not both.is_empty() and bool((both["wall_s"] == both["wall_s_own"]).all())
