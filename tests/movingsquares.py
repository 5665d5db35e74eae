"""A small movie of labels, for runs that take seconds."""

import numpy as np
import tifffile

from pyscale_stages.moviewriter import write_movie


def write_moving_squares(path):
    """Write six frames of labelled squares that move, of which two touch."""
    frames = np.zeros((6, 48, 48), np.uint16)
    for t in range(6):
        frames[t, 4 + t : 12 + t, 4:12] = 1
        frames[t, 4 + t : 12 + t, 12:20] = 2
        frames[t, 30:38, 20 + t : 28 + t] = 3
    write_movie(path, frames, "TYX")
    return path


def write_bright_squares(path):
    """Write the same squares as a camera sees them, bright in noise."""
    labels = tifffile.imread(write_moving_squares(path))
    noise = np.random.default_rng(0).normal(100, 3, labels.shape)
    write_movie(path, (noise + 400 * (labels > 0)).astype(np.uint16), "TYX")
    return path
