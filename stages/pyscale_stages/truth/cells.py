"""True cells: where they are, and whom they touch in label images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[Any]

NEIGHBOURS = ((0, 1), (1, 0), (0, -1), (-1, 0))


class TrueCell(NamedTuple):
    """A cell in one frame, with its track and the track that it divided from, or 0."""

    frame: int
    track_id: int
    parent_id: int
    y_px: float
    x_px: float


def count_contacts(labels: Sequence[Labels]) -> npt.NDArray[np.int64]:
    """Count touching pixels of each pair of cells in one frame.

    With two types, `contact_px` of a (channel 0) and b (channel 1) is the number of pixel pairs (p,
    q) with p in a, q in b, and q either p itself or one of its four neighbours: an overlapped pixel
    counts once for itself and once for each neighbour across. With one type it is the number of
    pairs of 4-neighbours of which one pixel is in a and the other in b, for a < b.
    """
    first, second = labels[0], labels[-1]
    shifts = ((0, 1), (1, 0)) if len(labels) == 1 else ((0, 0), *NEIGHBOURS)
    keys = []
    for dy, dx in shifts:
        a, b = first[_kept(dy, dx)], second[_kept(-dy, -dx)]
        met = (a > 0) & (b > 0)
        if len(labels) == 1:
            met &= a != b
        met_a, met_b = a[met].astype(np.int64), b[met].astype(np.int64)
        if len(labels) == 1:
            met_a, met_b = np.minimum(met_a, met_b), np.maximum(met_a, met_b)
        keys.append(met_a << 32 | met_b)
    pairs, contact_px = np.unique(np.concatenate(keys), return_counts=True)
    return np.stack([pairs >> 32, pairs & 0xFFFFFFFF, contact_px], axis=1)


def centroids(labels: Labels) -> npt.NDArray[np.float64]:
    """Track id and mean (y, x) of the pixels of each cell in view, shape (cells, 3)."""
    y, x = np.nonzero(labels)
    # Ids may be as large as 32 bits, so they are counted by their places.
    found, place = np.unique(labels[y, x], return_inverse=True)
    size = np.bincount(place)
    sum_y, sum_x = np.bincount(place, weights=y), np.bincount(place, weights=x)
    return np.stack([found, sum_y / size, sum_x / size], axis=1)


def _kept(dy: int, dx: int) -> tuple[slice, slice]:
    """Part of an image whose pixels have a neighbour at (dy, dx)."""
    return (
        slice(max(-dy, 0), -dy if dy > 0 else None),
        slice(max(-dx, 0), -dx if dx > 0 else None),
    )
