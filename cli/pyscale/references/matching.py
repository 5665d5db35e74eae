"""References for a report: of the same work, or asked for by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import polars as pl

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.machine.sidebyside import device_names
from pyscale.references.model import Loaded, Referred

NONE = "none"
"""Instead of a reference's name: no reference at all."""
T = TypeVar("T")


def shown_beside(
    references: Iterable[Loaded],
    work_id: str | None,
    *,
    asked: Collection[str] = (),
    sizes: Collection[str] = (),
) -> list[Loaded]:
    """Choose references of the same work and those that are asked for by name.

    The work has a fingerprint, and tests of a machine have one of the `sizes` of their images;
    `NONE` among the names chooses nothing.
    """
    if NONE in asked:
        return []
    return [
        one
        for one in references
        if one.reference.name in asked or one.reference.is_same_work(work_id, sizes)
    ]


def matched(
    references: Iterable[Loaded], find: Callable[[Loaded], Iterable[T]]
) -> list[Referred[T]]:
    """Keep what is found of each reference, with where it is from."""
    return [Referred(loaded.reference, found) for loaded in references for found in find(loaded)]


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
    `stages` has the stage of pyscale behind each name in `configurations`, where the two differ, as
    in a suite that segments two channels. Of what is found `stage` is the name in the report that
    it stands beside, in its order, and `label` its own.
    """
    names = configurations["stage"].unique(maintain_order=True)
    known = {name: (stages or {}).get(name, name) for name in names}

    def find(loaded: Loaded) -> Iterator[pl.DataFrame]:
        wanted = [own for own, stage in loaded.reference.stages.items() if stage in known.values()]
        measured = loaded.configurations(wanted) if wanted else None
        if measured is None:
            return
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
            yield pl.concat(beside)

    return matched(references, find)


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

    A reference that is the very measurement reported, to the last digit, is left out. `stages` has
    the stage of pyscale behind each family, where the two differ. The `family` of the findings is
    that of the grid that they stand beside; in their tables it is the reference's own.
    """

    def find(loaded: Loaded) -> Iterator[GridFindings]:
        measured = loaded.grids() if grids else ()
        for grid in grids:
            stage = (stages or {}).get(grid.family, grid.family)
            for other in measured:
                if (
                    loaded.reference.stages.get(other.family) == stage
                    and other.against == grid.against
                    and _steady(other) != _steady(grid)
                ):
                    yield replace(other, family=grid.family)

    return matched(references, find)


def _steady(grid: GridFindings) -> list[Any]:
    return sorted(grid.points.drop_nulls("steady_s").select("length_px", "steady_s").iter_rows())


_TEST = ("kind", "_device", "test")


def matching_tests(
    references: Iterable[Loaded], tests: pl.DataFrame
) -> list[Referred[pl.DataFrame]]:
    """Find what others measured of the reported tests of one run, on the same kind of device.

    A reference that names no stages is matched by the names of its tests. One that is the very
    measurement reported, to the last digit of every time, is left out.
    """
    own = _placed(tests)
    kinds = own.select("test", _kind="kind").unique(subset="test", maintain_order=True)

    def find(loaded: Loaded) -> Iterator[pl.DataFrame]:
        measured = loaded.tests()
        if measured is None:
            return
        known = measured.join(kinds, on="test", how="left", maintain_order="left").with_columns(
            kind=pl.coalesce("kind", "_kind")
        )
        beside = _placed(known).join(
            own.select(_TEST).unique(), on=_TEST, how="semi", maintain_order="left"
        )
        same = is_the_same(beside, own, (*_TEST, "at_once", "step"), "wall_s")
        if not beside.is_empty() and not same:
            yield beside.select(tests.columns)

    return matched(references, find)


def _placed(tests: pl.DataFrame) -> pl.DataFrame:
    """Say of each test what kind of device did it, whatever its name."""
    devices = pl.DataFrame(
        list(device_names(tests["device"].unique(maintain_order=True)).items()),
        schema={"device": pl.String, "_device": pl.String},
        orient="row",
    )
    return tests.join(devices, on="device", how="left", nulls_equal=True, maintain_order="left")
