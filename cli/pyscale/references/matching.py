"""References for a report: of the same work, or asked for by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import polars as pl

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.machine.sidebyside import device_names
from pyscale.analysis.referencemodel import Loaded, Referred
from pyscale.references.testtable import machine_tests_of

NONE = "none"
"""Instead of a reference's name: no reference at all."""


def shown_beside(
    references: Iterable[Loaded],
    work_id: str | None,
    *,
    asked: Collection[str] = (),
    sizes: Collection[str] = (),
) -> list[Loaded]:
    """Choose references of the same work or `sizes`, and those that are asked for by name."""
    if NONE in asked:
        return []
    return [
        one
        for one in references
        if one.reference.name in asked or one.reference.is_same_work(work_id, sizes)
    ]


def is_the_same(beside: pl.DataFrame, own: pl.DataFrame, on: Sequence[str], value: str) -> bool:
    """Whether all that both have is equal to the last digit: it is the very measurement."""
    both = beside.drop_nulls(value).join(
        own.drop_nulls(value).select(*on, _own=value), on=on, nulls_equal=True
    )
    return not both.is_empty() and bool((both[value] == both["_own"]).all())


def matching(
    references: Iterable[Loaded],
    configurations: pl.DataFrame,
    stages: Mapping[str, str] | None = None,
) -> list[Referred[pl.DataFrame]]:
    """Find what others measured of the reported stages, over numbers of workers too.

    Strong scaling stands beside strong scaling and weak beside weak, where both are known. A
    reference that is the very measurement reported, to the last digit at every N, is left out.
    `stages` has the stage of pyscale behind each name in `configurations`, where the two differ. Of
    what is found `stage` is the name in the report that it stands beside, and `label` its own.
    """
    names = configurations["stage"].unique(maintain_order=True)
    known = {name: (stages or {}).get(name, name) for name in names}

    found = []
    for loaded in references:
        stages_of = loaded.reference.stages
        wanted = [own for own, stage in stages_of.items() if stage in known.values()]
        measured = loaded.configurations(wanted) if wanted else None
        if measured is None:
            continue
        beside = []
        for (name, stage), label in product(known.items(), wanted):
            curve, reported = measured.filter(stage=label), configurations.filter(stage=name)
            alike = stages_of[label] == stage and _scale_alike(curve, reported)
            # Equal to the last digit, it is the measurement that is reported.
            if alike and _times(curve) != _times(reported):
                beside.append(curve.with_columns(label="stage", stage=pl.lit(name)))
        if beside:
            found.append(Referred(loaded.reference, pl.concat(beside)))
    return found


def _scale_alike(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether both are of strong or both of weak scaling, as far as that is known."""
    kinds = [set(side["scaling"].drop_nulls()) for side in (one, other)]
    return not all(kinds) or bool(kinds[0] & kinds[1])


def _times(configurations: pl.DataFrame) -> dict[Any, Any]:
    return dict(configurations.select("workers", "wall_s").iter_rows())


def matching_grids(
    references: Iterable[Loaded],
    grids: Sequence[GridFindings],
    stages: Mapping[str, str] | None = None,
) -> list[Referred[GridFindings]]:
    """Find what others measured of the stages of grids, against the same axis.

    The `family` of the findings is that of the grid that they stand beside; in their tables it is
    the reference's own. The very measurement that is reported is left out.
    """
    return [
        Referred(loaded.reference, replace(other, family=grid.family))
        for loaded in (references if grids else ())
        for grid, other in product(grids, loaded.grids())
        if loaded.reference.stages.get(other.family) == (stages or {}).get(grid.family, grid.family)
        and other.against == grid.against
        and _steady(other) != _steady(grid)
    ]


def _steady(grid: GridFindings) -> list[Any]:
    return sorted(grid.points.drop_nulls("steady_s").select("length_px", "steady_s").iter_rows())


_TEST = ("kind", "_device", "test")


def matching_tests(
    references: Iterable[Loaded], tests: pl.DataFrame
) -> list[Referred[pl.DataFrame]]:
    """Find what others measured of tests of one run, by kind of device and name of the test."""
    own = _placed(tests)
    kinds = own.select("test", _kind="kind").unique(subset="test", maintain_order=True)

    found = []
    for loaded in references:
        measured = machine_tests_of(loaded)
        if measured is None:
            continue
        known = measured.join(kinds, on="test", how="left", maintain_order="left").with_columns(
            kind=pl.coalesce("kind", "_kind")
        )
        beside = _placed(known).join(
            own.select(_TEST).unique(), on=_TEST, how="semi", maintain_order="left"
        )
        same = is_the_same(beside, own, (*_TEST, "at_once", "step"), "wall_s")
        if not beside.is_empty() and not same:
            found.append(Referred(loaded.reference, beside.select(tests.columns)))
    return found


def _placed(tests: pl.DataFrame) -> pl.DataFrame:
    """Say of each test what kind of device did it, whatever its name."""
    devices = device_names(tests["device"].unique(maintain_order=True))
    return tests.with_columns(
        _device=pl.col("device").replace_strict(devices, return_dtype=pl.String)
    )
