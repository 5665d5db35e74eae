"""References for a report: of the same work or asked for by name, and what of each matches it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import polars as pl

from pyscale.analysis.declared import REAL, TEXT, WHOLE, columns
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.machine.beside import device_names
from pyscale.analysis.ranks.loader import SETTINGS
from pyscale.analysis.ranks.reconstruct import COMPUTED, TOTAL
from pyscale.analysis.referencemodel import GPUS, NUM_WORKERS, WORKERS, Loaded, Referred

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


def _some(
    found: Iterable[tuple[Loaded, pl.DataFrame | None]],
) -> list[Referred[pl.DataFrame]]:
    """References of which a row is left."""
    return [
        Referred(loaded.reference, rows)
        for loaded, rows in found
        if rows is not None and not rows.is_empty()
    ]


def _is_the_same(beside: pl.DataFrame, own: pl.DataFrame, on: Sequence[str]) -> bool:
    """Whether all times that both have are equal to the last digit: it is the very measurement."""
    told = beside.drop_nulls("wall_s").select(*on, "wall_s")
    both = told.join(own.select(*on, _own="wall_s").drop_nulls("_own"), on=on, nulls_equal=True)
    return not both.is_empty() and bool((both["wall_s"] == both["_own"]).all())


def matching(
    references: Iterable[Loaded],
    configurations: pl.DataFrame,
    stages: Mapping[str, str] | None = None,
) -> list[Referred[pl.DataFrame]]:
    """Find what others measured of the reported stages, over numbers of workers too.

    Strong scaling stands beside strong scaling and weak beside weak, where both are known. `stages`
    has the stage of pyscale behind each name in `configurations`, where the two differ. Of what is
    found `stage` is the name in the report that it stands beside, and `label` its own.
    """
    names = configurations["stage"].unique(maintain_order=True)
    kinds = {name: (stages or {}).get(name, name) for name in names}

    def curves(loaded: Loaded) -> pl.DataFrame | None:
        own = loaded.reference.stages.items()
        pairs = [(name, label) for name, label in product(kinds.items(), own)]
        alike = [(name, label) for (name, kind), (label, stage) in pairs if kind == stage]
        measured = loaded.configurations({label for _, label in alike}) if alike else None
        if measured is None:
            return None
        found = [measured.clear().with_columns(label="stage")]
        for name, label in alike:
            reported = configurations.filter(stage=name)
            curve = measured.filter(stage=label).with_columns(label="stage", stage=pl.lit(name))
            if _scale_alike(curve, reported) and not _is_the_same(curve, reported, [WORKERS]):
                found.append(curve)
        return pl.concat(found)

    return _some((loaded, curves(loaded)) for loaded in references)


def _scale_alike(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether both are of strong or both of weak scaling, as far as that is known."""
    kinds = [set(side["scaling"].drop_nulls()) for side in (one, other)]
    return not all(kinds) or bool(kinds[0] & kinds[1])


def matching_grids(
    references: Iterable[Loaded],
    grids: Sequence[GridFindings],
    stages: Mapping[str, str] | None = None,
) -> list[Referred[GridFindings]]:
    """Find what others measured of the stages of grids, against the same axis.

    The `family` of the findings is that of the grid that they stand beside; in their tables it is
    the reference's own.
    """

    def steady(grid: GridFindings) -> list[Any]:
        return sorted(grid.points.drop_nulls("steady_s").select("length_px", "steady_s").rows())

    return [
        Referred(loaded.reference, replace(other, family=grid.family))
        for loaded in (references if grids else ())
        for grid, other in product(grids, loaded.grids())
        if loaded.reference.stages.get(other.family) == (stages or {}).get(grid.family, grid.family)
        and other.against == grid.against
        and steady(other) != steady(grid)
    ]


TEST = ["kind", "device_kind", "test"]


def matching_tests(
    references: Iterable[Loaded], tests: pl.DataFrame
) -> list[Referred[pl.DataFrame]]:
    """Find what others measured of tests of one run, by kind of device and name of the test."""
    own = _placed(tests)
    kinds = own.select("test", own_kind="kind").unique("test", maintain_order=True)

    def same_tests(loaded: Loaded) -> pl.DataFrame | None:
        measured = loaded.tests()
        if measured is None:
            return None
        known = measured.join(kinds, on="test", how="left", maintain_order="left")
        alike = _placed(known.with_columns(kind=pl.coalesce("kind", "own_kind"))).join(
            own.select(TEST).unique(), on=TEST, how="semi", maintain_order="left"
        )
        is_own = _is_the_same(alike, own, [*TEST, "at_once", "step"])
        return None if is_own else alike.select(tests.columns)

    return _some((loaded, same_tests(loaded)) for loaded in references)


def _placed(tests: pl.DataFrame) -> pl.DataFrame:
    """Say of each test what kind of device did it, whatever its name."""
    devices = device_names(tests["device"].unique(maintain_order=True))
    named = pl.col("device").replace_strict(devices, return_dtype=pl.String)
    return tests.with_columns(device_kind=named)


PUBLISHED_SETTINGS = (NUM_WORKERS, "pool_size", "patches_per_slide", "patches_per_visit")
"""Settings that every table of rates tells; it may tell the others too."""
RATES = ("effective_patches_per_s", "aggregate_patches_per_s", "slowest_patches_per_s")


def matching_loading(
    references: Iterable[Loaded], points: pl.DataFrame
) -> list[Referred[pl.DataFrame]]:
    """Find what others measured with the settings of configurations that are reported.

    Such a reference gives N times its slowest rank as its effective rate, so that N follows.
    Settings that its table does not tell are taken for equal.
    """

    def same_settings(loaded: Loaded) -> pl.DataFrame | None:
        table, needed = loaded.table, {*PUBLISHED_SETTINGS, *RATES}
        if loaded.reference.sweep != NUM_WORKERS or not needed <= set(table.columns):
            return None
        told = [name for name in SETTINGS if name in table.columns]
        ranks = pl.col("effective_patches_per_s") / pl.col("slowest_patches_per_s")
        published = table.with_columns(
            *(pl.col(name).cast(points.schema[name]) for name in told),
            workers=ranks.round().cast(pl.Int64),
        )
        on = [*told, WORKERS]
        return (
            points.select("stage", *on)
            .join(published.select(*on, *RATES), on=on, nulls_equal=True, maintain_order="left")
            .select("stage", WORKERS, *RATES)
        )

    return _some((loaded, same_settings(loaded)) for loaded in references)


SPEEDUPS = ("problem", "image_size", "baseline_gpus", GPUS, "component", "speedup")
"""Columns of a table of speedups of a reconstruction."""
COMPONENTS = (TOTAL, *COMPUTED)
"""Those of an iteration that sources tell of and that are the same here."""
FLAT = {"colour_deblur", "tomography_2d"}
"""Problems of images; a source that tells of pixels alone may be of any of them."""
PUBLISHED_SCHEMA = columns(
    (TEXT, "problem"),
    (WHOLE, "size_px baseline_workers workers"),
    (TEXT, "component"),
    (REAL, "speedup efficiency normalised_efficiency"),
)


def matching_reconstruct(
    references: Iterable[Loaded], points: pl.DataFrame
) -> list[Referred[pl.DataFrame]]:
    """Find what others measured of the problems that are reported, as `PUBLISHED_SCHEMA` lists.

    Of each problem, size and component the speedups at N that were measured here are kept and,
    where there is none, that at the largest N.
    """
    problems = set(points["problem"].drop_nulls())
    same = pl.col("problem").is_in(sorted(problems))
    if problems & FLAT:
        same |= pl.col("problem").is_null()
    counts = pl.col("workers").is_in(points["workers"].unique().to_list())
    group = ["problem", "size_px", "baseline_workers", "component"]
    largest = pl.col("workers") == pl.col("workers").max().over(group)

    at_n = counts | (~counts.any().over(group) & largest)
    published = ((loaded, _published(loaded)) for loaded in references)
    return _some(
        (loaded, rows.filter(same).filter(at_n)) for loaded, rows in published if rows is not None
    )


def _published(loaded: Loaded) -> pl.DataFrame | None:
    """Speedups over N0 at N beyond it, of a table of them; None of any other."""
    table, worked = loaded.table, "work_normalised_efficiency_pct"
    if loaded.reference.sweep != GPUS or not set(SPEEDUPS) <= set(table.columns):
        return None
    workers, base, speedup = pl.col(GPUS), pl.col("baseline_gpus"), pl.col("speedup")
    return (
        table.filter(pl.col("component").is_in(COMPONENTS), workers > base)
        .with_columns(
            size_px="image_size",
            baseline_workers=base,
            workers=workers,
            efficiency=speedup * base / workers,
            normalised_efficiency=pl.col(worked) / 100 if worked in table.columns else pl.lit(None),
        )
        .select(pl.col(name).cast(kind) for name, kind in PUBLISHED_SCHEMA.items())
    )
