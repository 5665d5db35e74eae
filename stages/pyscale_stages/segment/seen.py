"""Limits of brightness of a frame that the camera did not see whole."""

from __future__ import annotations

import numpy as np

from pyscale_stages.movie import Pixels
from pyscale_stages.segment.models import Limits

PERCENTILES = (1, 99)
"""Cellpose's own."""
LEAST_CONTRAST = 1e-3
"""Below it Cellpose takes a frame for empty."""


def limits_of(frame: Pixels, seen: Pixels) -> Limits | None:
    """Percentiles of the pixels that the camera saw.

    `frame`, `seen`: shape (Y, X); where the latter is 0 the frame was filled. Returns: None where
    all was seen, or nothing with any contrast: the frame's own percentiles do.
    """
    is_seen = seen > 0
    if is_seen.all() or not is_seen.any():
        return None
    low, high = np.percentile(frame[is_seen].astype(np.float32), PERCENTILES)
    return (float(low), float(high)) if high - low > LEAST_CONTRAST else None
