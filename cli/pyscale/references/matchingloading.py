"""Which references belong beside the loading of patches: the same settings on as many ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyscale.references.model import Loaded, Reference

if TYPE_CHECKING:
    import polars as pl

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
        As reported (see `pyscale.analysis.loader.findings.LoaderFindings`).

    Returns
    -------
    list of tuple of Reference and polars.DataFrame
        In the order of `references`: `stage` and `workers` of the configuration in the report,
        and `RATES` of the reference.
    """
    import polars as pl

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
