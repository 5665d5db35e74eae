"""Distance of a reconstruction from the measured image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pyscale_stages.reconstruct.output import Image


def psnr_db(image: Image, truth: Image, where: npt.NDArray[np.bool_] | None = None) -> float | None:
    """Peak signal-to-noise ratio, where the largest possible value is 1.

    `image`, `truth`: float32, channels and lengths, of one shape. `where`: bool or None; of the
    lengths' shape: which pixels count; None is all. Returns: in dB; None where no pixel counts, or
    the two are equal.
    """
    squares = np.square(image.astype(np.float64) - truth).mean(axis=0)
    if where is not None:
        squares = squares[where]
    if not squares.size or not (mean := float(squares.mean())):
        return None
    return -10 * math.log10(mean)
