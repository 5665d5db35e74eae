"""Published times of a distributed reconstruction, in the shape of those of a run."""

from __future__ import annotations

from typing import Any

import polars as pl

from pyscale.analysis.reconstruct.columns import TOTAL, column, scaling_schema, trial_schema
from pyscale.analysis.reconstruct.scaling import component_scaling, tiled_work

PUBLISHED = {TOTAL: TOTAL, "physics": "gradient", "denoiser": "denoiser", "overhead": "overhead"}
"""Names of components in the published table, and what they are called here. Its overhead is the
total without the other two, so it holds both exchanges, all waiting and whatever else there is."""
TILE_PX, OVERLAP_PX = 448, 32
"""Of the published tiles, which cut an image in two dimensions on several GPUs."""


def published_scaling(table: pl.DataFrame) -> pl.DataFrame:
    """Take published times for one trial of each size and N, and compare them as those of a run.

    Parameters
    ----------
    table : polars.DataFrame
        Wall times in seconds as the reference deepinverse-v100 has them: `stage` like
        "physics_2048_px", a component of `PUBLISHED` and the length of the image, `workers` and
        `wall_s`. Rows of other stages, and an N of which not all components are told, are left
        out.

    Returns
    -------
    polars.DataFrame
        Columns of `pyscale.analysis.reconstruct.columns.scaling_schema`, with the components total,
        gradient, denoiser and overhead: `stage` is like "2048_px", family and problem are null, and
        so are all intervals. `flags` are empty, as the reference's caveats say what to doubt.
    """
    kinds: dict[str, Any] = trial_schema()
    for part in PUBLISHED.values():
        name = column(part)
        kinds |= dict.fromkeys((f"{name}_s", f"{name}_mean_s", f"{name}_share"), pl.Float64())
    trials = pl.DataFrame(
        [_trial(row) for row in _by_component(table).iter_rows(named=True)], kinds, orient="row"
    )
    if trials.is_empty():
        return pl.DataFrame(schema=scaling_schema())
    found = component_scaling(trials, components=tuple(PUBLISHED.values()))
    return found.with_columns(flags=pl.lit(""))


def _by_component(table: pl.DataFrame) -> pl.DataFrame:
    """One row for each size and N with a column a component, where all are told."""
    parts = list(PUBLISHED)
    named = pl.col("stage").str.extract_groups(rf"^(?<part>{'|'.join(parts)})_(?<size_px>\d+)_px$")
    return (
        table.select("workers", "wall_s", named.alias("stage"))
        .unnest("stage")
        .filter(pl.col("part").is_not_null())
        .with_columns(pl.col("size_px").cast(pl.Int64))
        .pivot("part", on_columns=parts, index=["size_px", "workers"], values="wall_s")
        .drop_nulls(parts)
        .sort("size_px", "workers")
    )


def _trial(row: dict[str, Any]) -> dict[str, Any]:
    size_px, workers = row["size_px"], row["workers"]
    times: dict[str, float] = {}
    for published, part in PUBLISHED.items():
        name, time_s = column(part), row[published]
        times |= {
            f"{name}_s": time_s,
            f"{name}_mean_s": time_s,
            f"{name}_share": time_s / row[TOTAL],
        }
    tiles = {"tile_px": TILE_PX, "overlap_px": OVERLAP_PX}
    return times | {
        "stage": f"{size_px}_px",
        "size_px": size_px,
        "workers": workers,
        "trial": f"{size_px}_px-n{workers}",
        "block": 1,
        "attempt": 1,
        "complete": True,
        "valid": True,
        "exhausted": False,
        "ranks_s": row[TOTAL],
        "work_multiplier": 1.0 if workers == 1 else tiled_work(size_px, **tiles),
    }
