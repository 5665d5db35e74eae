"""Scaling of each component of an iteration, over the fewest ranks with a result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import polars as pl

from pyscale.analysis.intervals import median_interval, ratio_interval_by_block, with_ends
from pyscale.analysis.reconstruct.columns import (
    BETWEEN_RANKS,
    EVERY,
    OBJECTIVE,
    TOTAL,
    column,
    scaling_schema,
)
from pyscale.analysis.reconstruct.flags import flag_codes
from pyscale.analysis.reconstruct.trials import baseline, by_workers, share_of

ONE = ("stage", "family", "problem", "size_px")
WITH_WORK = (TOTAL, "denoiser")
"""Components whose work grows with the tiles' margins."""


def component_scaling(trials: pl.DataFrame, *, components: Sequence[str] = EVERY) -> pl.DataFrame:
    """Compare each component at each N with the fewest ranks that gave a result."""
    rows = [
        _row(own, entry, component)
        for entry in trials.partition_by("stage", maintain_order=True)
        for own in by_workers(entry)
        for component in components
    ]
    return pl.DataFrame(rows, scaling_schema(), orient="row")


def _row(own: pl.DataFrame, entry: pl.DataFrame, component: str) -> dict[str, Any]:
    name = column(component)
    counted, base = own.filter("valid").sort("block"), baseline(entry).sort("block")
    times_s = counted[f"{name}_s"].to_list()
    row = {key: own[key][0] for key in ONE} | {
        "workers": own["workers"][0],
        "component": component,
        "repeats": counted.height,
        "baseline_workers": base["workers"].min(),
        "work_multiplier": counted["work_multiplier"].max(),
        "flags": ",".join(flag_codes(own, entry, times_s)),
    }
    if counted.is_empty():
        return row
    mean_s, base_mean_s = (median(each[f"{name}_mean_s"].to_list()) for each in (counted, base))
    return row | {
        **with_ends("seconds", median(times_s), median_interval(times_s)),
        "mean_seconds": mean_s,
        "share": _share(counted, component),
        "loss_s": mean_s - base_mean_s * row["baseline_workers"] / row["workers"],
        **_speedup(counted, base, component),
    }


def _share(counted: pl.DataFrame, component: str) -> float | None:
    if component == OBJECTIVE:
        return None
    return 1.0 if component == TOTAL else share_of(counted, component)


def _speedup(own: pl.DataFrame, base: pl.DataFrame, component: str) -> dict[str, float | None]:
    """Speedup over the baseline and the efficiencies that follow; nothing where it has no sense."""
    workers, base_workers = int(own["workers"][0]), int(base["workers"][0])
    times_s, base_s = (each[f"{column(component)}_s"].to_list() for each in (own, base))
    alone = base_workers == 1 and component in BETWEEN_RANKS
    if alone or median(times_s) <= 0 or median(base_s) <= 0:
        return {}
    speedup = median(base_s) / median(times_s)
    interval = None
    # The baseline's speedup is 1 by definition, and of nothing a resample may have no quotient.
    if workers != base_workers and min(*times_s, *base_s) > 0:
        interval = ratio_interval_by_block(base, own, f"{column(component)}_s")
    found: dict[str, float | None] = with_ends("speedup", speedup, interval)
    for end in ("", "_low", "_high"):
        value = found[f"speedup{end}"]
        share = None if value is None else efficiency(value, workers, base_workers)
        found[f"efficiency{end}"] = share
    if component in WITH_WORK:
        work, base_work = (each["work_multiplier"].to_list()[0] for each in (own, base))
        share = efficiency(speedup, workers, base_workers)
        found["normalised_efficiency"] = normalised_efficiency(share, work, base_work)
    return found


def efficiency(speedup: float, workers: int, baseline: int) -> float:
    """Share of the ranks that is of use: `S * N0 / N`, of a speedup S over N0 ranks."""
    return speedup * baseline / workers


def normalised_efficiency(
    efficiency: float, work: float | None, work_at_baseline: float | None
) -> float | None:
    """Efficiency for the same work: times what is denoised, over what N0 ranks denoise."""
    if work is None or work_at_baseline is None:
        return None
    return efficiency * work / work_at_baseline


def tiled_work(size_px: int, *, tile_px: int, overlap_px: int, dims: int = 2) -> float:
    """Pixels of all tiles with their margins, over those of the image.

    Tiles at the edge are as large as all others, also where the image ends within them: 5 tiles
    of 448 px with margins of 32 px cover 2048 px by windows of 512 px, and in two dimensions
    1.5625 times as many pixels are denoised.
    """
    tiles = math.ceil(size_px / tile_px)
    return float((tiles * (tile_px + 2 * overlap_px) / size_px) ** dims)
