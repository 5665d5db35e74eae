"""Efficiency of ranks that share one image, and what its tiles add to their work."""

from __future__ import annotations

import math


def efficiency(speedup: float, workers: int, baseline: int) -> float:
    """Share of the ranks that is of use: `S * N0 / N`, of a speedup S over N0 ranks."""
    return speedup * baseline / workers


def normalised_efficiency(
    efficiency: float, work: float | None, work_at_baseline: float | None
) -> float | None:
    """Efficiency for the same work: times what is denoised, over what N0 ranks denoise.

    Parameters
    ----------
    efficiency : float
    work, work_at_baseline : float or None
        Pixels that all ranks denoise over those of the image, with N and with N0 ranks.

    Returns
    -------
    float or None
        None where either work is not known.
    """
    if work is None or work_at_baseline is None:
        return None
    return efficiency * work / work_at_baseline


def tiled_work(size_px: int, *, tile_px: int, overlap_px: int, dims: int = 2) -> float:
    """Pixels of all tiles with their margins, over those of the image.

    Tiles at the edge are as large as all others, also where the image ends within them: 5 tiles
    of 448 px with margins of 32 px cover 2048 px by windows of 512 px, and in two dimensions
    1.5625 times as many pixels are denoised.

    Parameters
    ----------
    size_px : int
        Length of the image along each dimension.
    tile_px, overlap_px : int
        Length of a tile, and of its margin on each side.
    dims : int
        Dimensions that are cut.
    """
    tiles = math.ceil(size_px / tile_px)
    return float((tiles * (tile_px + 2 * overlap_px) / size_px) ** dims)
