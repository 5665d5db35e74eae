"""References for a distributed reconstruction: the same kind of problem."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from pyscale.analysis.ranks.components import efficiency, published_scaling
from pyscale.analysis.schema import REAL, TEXT, WHOLE, Schema, columns
from pyscale.references.model import Loaded, Reference

SWEEP = "gpus"
COLUMNS = ("problem", "image_size", "baseline_gpus", "gpus", "component", "speedup")
"""Of a table of speedups that were published without their times."""
COMPONENTS = ("total", "gradient", "denoiser")
"""Those of an iteration that sources tell of and that are the same here."""
FLAT = ("colour_deblur", "tomography_2d")
"""Problems of images; a source that tells of pixels alone may be of any of them."""


def published_schema() -> Schema:
    """Columns of what others measured, one row a component of a problem and size at one N.

    problem : str
        As the stage calls it; null where a source does not tell it.
    size_px, baseline_workers, workers : int
        Length of the image, N0 and N.
    component : str
        One of `COMPONENTS`.
    speedup, efficiency, normalised_efficiency : float
        Over N0, as `pyscale.analysis.ranks.components.scaling_schema` describes them; the last
        is null where a source does not tell how an image was cut.
    """
    return columns(
        (TEXT, "problem"),
        (WHOLE, "size_px baseline_workers workers"),
        (TEXT, "component"),
        (REAL, "speedup efficiency normalised_efficiency"),
    )


def matching_reconstruct(
    references: Iterable[Loaded], points: pl.DataFrame
) -> list[tuple[Reference, pl.DataFrame]]:
    """Find what others measured of the problems that are reported.

    Of each problem, size and component the speedups at N that were measured here are kept and,
    where there is none, that at the largest N.

    Parameters
    ----------
    references : iterable of Loaded
        Those of published speedups over numbers of GPUs, and those of wall times of components
        (see `pyscale.analysis.ranks.components.published_scaling`), are looked at.
    points : polars.DataFrame
        As reported: `problem` and `workers` are read (see
        `pyscale.analysis.ranks.reconstruct.ReconstructFindings`).

    Returns
    -------
    list of tuple of Reference and polars.DataFrame
        In the order of `references`: columns of `published_schema`.
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
        if not kept.is_empty():
            found.append((loaded.reference, kept))
    return found


def _published(loaded: Loaded) -> pl.DataFrame:
    """Speedups over N0 at N beyond it, of a table of either kind; no row of any other."""
    table = loaded.table
    rows: list[dict[str, Any]] = []
    if loaded.reference.sweep == SWEEP and set(COLUMNS) <= set(table.columns):
        rows = [_row(row) for row in table.iter_rows(named=True)]
    elif loaded.reference.has_wall_times:
        rows = published_scaling(table).to_dicts()
    kept = [
        {name: row.get(name) for name in published_schema()}
        for row in rows
        if row["component"] in COMPONENTS and row["workers"] > row["baseline_workers"]
    ]
    return pl.DataFrame(kept, published_schema(), orient="row")


def _row(told: dict[str, Any]) -> dict[str, Any]:
    workers, base = int(told["gpus"]), int(told["baseline_gpus"])
    return {
        "problem": told["problem"],
        "size_px": told["image_size"],
        "baseline_workers": base,
        "workers": workers,
        "component": told["component"],
        "speedup": told["speedup"],
        "efficiency": efficiency(told["speedup"], workers, base),
    }
