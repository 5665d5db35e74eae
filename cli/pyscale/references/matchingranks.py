"""References for what ranks do together: rates of loading, and speedups of a reconstruction."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from pyscale.analysis.ranks.components import COMPUTED, TOTAL, published_scaling
from pyscale.analysis.ranks.loader import SETTINGS
from pyscale.analysis.referencemodel import GPUS, NUM_WORKERS, Loaded, Referred
from pyscale.analysis.schema import REAL, TEXT, WHOLE, columns
from pyscale.references.matching import is_the_same

PUBLISHED_SETTINGS = (NUM_WORKERS, "pool_size", "patches_per_slide", "patches_per_visit")
"""Settings that every table of rates tells; it may tell the others too."""
RATES = ("effective_patches_per_s", "aggregate_patches_per_s", "slowest_patches_per_s")


def matching_loading(
    references: Iterable[Loaded], points: pl.DataFrame
) -> list[Referred[pl.DataFrame]]:
    """Find what others measured with the settings of configurations that are reported.

    Such a reference gives N times its slowest rank as its effective rate, so that N follows.
    Settings that its table does not tell are taken for equal. One that is the very measurement
    reported is left out.
    """
    found = []
    for loaded in references:
        table, needed = loaded.table, {*PUBLISHED_SETTINGS, *RATES}
        if loaded.reference.sweep != NUM_WORKERS or not needed <= set(table.columns):
            continue
        told = [name for name in SETTINGS if name in table.columns]
        ranks = pl.col("effective_patches_per_s") / pl.col("slowest_patches_per_s")
        published = table.with_columns(
            *(pl.col(name).cast(points.schema[name]) for name in told),
            workers=ranks.round().cast(pl.Int64),
        )
        same = points.select("stage", "workers", "inferred_per_s", *told).join(
            published.select(*told, "workers", *RATES),
            on=[*told, "workers"],
            nulls_equal=True,
            maintain_order="left",
        )
        if not same.is_empty() and not same["inferred_per_s"].equals(same[RATES[0]]):
            beside = same.select("stage", "workers", *RATES)
            found.append(Referred(loaded.reference, beside))
    return found


COLUMNS = ("problem", "image_size", "baseline_gpus", GPUS, "component", "speedup")
"""Of a table of speedups of a reconstruction."""
COMPONENTS = (TOTAL, *COMPUTED)
"""Those of an iteration that sources tell of and that are the same here."""
FLAT = ("colour_deblur", "tomography_2d")
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
    where there is none, that at the largest N. One that is the very measurement reported is left
    out.
    """
    problems = set(points["problem"].drop_nulls())
    same = pl.col("problem").is_in(sorted(problems))
    if problems & set(FLAT):
        same |= pl.col("problem").is_null()
    counts = pl.col("workers").is_in(points["workers"].unique().to_list())
    group = ["problem", "size_px", "baseline_workers", "component"]
    largest = pl.col("workers") == pl.col("workers").max().over(group)

    found = []
    for loaded in references:
        table = _published(loaded)
        kept = table.filter(same).filter(counts | (~counts.any().over(group) & largest))
        if not kept.is_empty() and not _is_the_run(loaded.table, points):
            found.append(Referred(loaded.reference, kept))
    return found


def _is_the_run(table: pl.DataFrame, points: pl.DataFrame) -> bool:
    """Whether the times of whole iterations are those of the report."""
    if not {"stage", GPUS, "wall_s"} <= set(table.columns):
        return False
    whole = table.filter(pl.col("component") == TOTAL).rename({GPUS: "workers"})
    return is_the_same(whole, points, ("stage", "workers"), "wall_s")


def _published(loaded: Loaded) -> pl.DataFrame:
    """Speedups over N0 at N beyond it, of a table of either kind; no row of any other."""
    table = loaded.table
    if loaded.reference.sweep == GPUS and set(COLUMNS) <= set(table.columns):
        workers, base, speedup = pl.col(GPUS), pl.col("baseline_gpus"), pl.col("speedup")
        table = table.select(
            *("problem", "component", "speedup"),
            size_px="image_size",
            baseline_workers=base,
            workers=workers,
            efficiency=speedup * base / workers,
            normalised_efficiency=pl.lit(None),
        )
    elif loaded.reference.has_wall_times:
        table = published_scaling(table)
    else:
        return pl.DataFrame(schema=PUBLISHED_SCHEMA)
    return table.filter(
        pl.col("component").is_in(COMPONENTS), pl.col("workers") > pl.col("baseline_workers")
    ).select(pl.col(name).cast(kind) for name, kind in PUBLISHED_SCHEMA.items())
