"""Transforms that are hardly drift, and their warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.warned import Warned

if TYPE_CHECKING:
    from pyscale_stages.register_denoise.ants_calls import Correction

MIN_CORRELATION = 0.5
"""Below it, less than a quarter of the reference's contrast is found again in a frame.

On synthetic movies of cells that wander, drift errors grow from tenths of a pixel at 0.9 to
pixels at 0.5, and to tens of pixels below.
"""
MAX_AREA_CHANGE = 2.0
"""One specimen hardly shows at twice or half its size."""


def is_doubtful(found: Correction, shape_yx: tuple[int, int]) -> bool:
    """Whether a transform is hardly drift, so that a frame is better left where it is.

    It is where the moved frame shows little likeness to the reference, or less than it had
    unmoved, or where it moved by more than half its size or changed its area twofold.

    `shape_yx`: height and width of the frame in pixels.
    """
    height, width = shape_yx
    linear = found.linear
    area = linear.determinant
    unlike = found.correlation is not None and (
        found.correlation < max(MIN_CORRELATION, found.correlation_unmoved or 0.0)
    )
    too_far = abs(linear.ty_px) > height / 2 or abs(linear.tx_px) > width / 2
    return unlike or too_far or not 1 / MAX_AREA_CHANGE <= area <= MAX_AREA_CHANGE


def doubts(transforms: pl.DataFrame, params: RegisterDenoiseParams) -> list[Warned]:
    """Count the frames that were not registered although registration was asked for.

    Returns: one for each reason, also where no frame of this window has it: those of others may.
    """
    if params.adds_up:
        left = "were moved like the frame before them"
        constant = "they have one value everywhere, or the frame before them has,"
        doubtful = (
            "registration to the frame before them found an implausible drift; where cells "
            "wander, register by a channel of what stays in place"
        )
    else:
        left = "were not moved"
        constant = "they have one value everywhere"
        doubtful = (
            f"registration to the reference frame {params.reference_frame} found an implausible "
            "drift; where cells wander, register by a channel of what stays in place; where the "
            "specimen changes over the movie, set reference to previous, or choose a "
            "reference_frame nearer to the frames"
        )
    reasons = {
        "constant": ("constant-frames", f"{constant} in channel {params.channel}"),
        "doubtful": ("unregistered-frames", doubtful),
    }
    return [
        Warned(
            code=code,
            text=f"{left}: {reason}",
            concerned=transforms["status"].eq(status).sum(),
            seen=len(transforms),
            # A frame of one value has nothing that could have moved.
            doubts_result=status == "doubtful",
        )
        for status, (code, reason) in reasons.items()
    ]
