"""A small movie of labels, for runs that take seconds."""

from math import ceil, sqrt

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


def write_crowds(path, cells_of_frames):
    """Write frames of as many labelled squares as is said, each of which moves to and fro by 1 px.

    Labels are drawn anew in each frame, as a segmentation gives them.
    """
    side = ceil(sqrt(max(cells_of_frames)))
    draw = np.random.default_rng(0)
    frames = []
    for t, cells in enumerate(cells_of_frames):
        labels = np.zeros(side**2, np.uint16)
        labels[:cells] = draw.permutation(cells) + 1
        square = np.zeros((8, 8), np.uint16)
        square[2 + t % 2 : 6 + t % 2, 2:6] = 1
        frames.append(np.kron(labels.reshape(side, side), square))
    write_movie(path, np.stack(frames), "TYX")
    return path
