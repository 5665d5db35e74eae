"""A small movie of labels, for runs that take seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyscale_stages.moviewriter import write_movie


def write_moving_squares(path: Path) -> Path:
    """Write six frames of labelled squares that move, of which two touch."""
    frames = np.zeros((6, 48, 48), np.uint16)
    for t in range(6):
        frames[t, 4 + t : 12 + t, 4:12] = 1
        frames[t, 4 + t : 12 + t, 12:20] = 2
        frames[t, 30:38, 20 + t : 28 + t] = 3
    write_movie(path, frames, "TYX")
    return path
