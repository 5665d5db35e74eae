"""What the reader must know of the transforms that were found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale_stages.register_denoise.params import RegisterDenoiseParams

if TYPE_CHECKING:
    import polars as pl

MIN_CORRELATION = 0.5
"""Below it, less than a quarter of the reference's contrast is found again in a frame.

On synthetic movies of cells that wander, drift errors grow from tenths of a pixel at 0.9 to
pixels at 0.5, and to tens of pixels below.
"""
MAX_AREA_CHANGE = 2.0
"""One specimen hardly shows at twice or half its size."""


def doubts(
    transforms: pl.DataFrame, shape_yx: tuple[int, int], params: RegisterDenoiseParams
) -> list[str]:
    """Say which frames were not registered, or probably not to the specimen.

    Parameters
    ----------
    transforms : DataFrame
        Table of transforms of a window.
    shape_yx : tuple of int
        Height and width of the frames in pixels.
    params : RegisterDenoiseParams

    Returns
    -------
    list of str
        One sentence for each kind of doubt, with the frames it is about.
    """
    import polars as pl

    registered = transforms.filter(pl.col("status") == "registered")
    area = pl.col("m00") * pl.col("m11") - pl.col("m01") * pl.col("m10")
    height, width = shape_yx
    too_far = (pl.col("ty_px").abs() > height / 2) | (pl.col("tx_px").abs() > width / 2)
    kinds = (
        (
            transforms.filter(pl.col("status") == "constant"),
            f"one value everywhere in channel {params.channel}, and were left where they are",
        ),
        (
            registered.filter(pl.col("correlation") < MIN_CORRELATION),
            f"little likeness to the reference frame {params.reference_frame} after registration "
            f"(correlation below {MIN_CORRELATION}), so that their transforms may follow moving "
            "cells and not the drift: look at them, and if need be register by a channel of "
            "what stays in place",
        ),
        (
            registered.filter(too_far | (area > MAX_AREA_CHANGE) | (area < 1 / MAX_AREA_CHANGE)),
            "a transform by more than half the frame or twice its size, which is hardly drift: "
            "look at them",
        ),
    )
    return [
        f"{len(frames)} of {len(transforms)} frames (the first is {frames['frame'][0]}) have {what}"
        for frames, what in kinds
        if len(frames)
    ]
