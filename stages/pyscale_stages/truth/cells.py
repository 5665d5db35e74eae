"""Cells of label images: where they are, and whom they touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

Labels = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


class TrueCell(NamedTuple):
    """A cell in one frame, with its track and the track that it divided from, or 0."""

    frame: int
    track_id: int
    parent_id: int
    y_px: float
    x_px: float


def ranked(values: Labels, dtype: type[np.integer[Any]] = np.int64) -> tuple[Labels, Labels]:
    """Labels that occur, ascending, and the rank of each of some labels, from 0, among them."""
    if int(values.min(initial=0)) >= 0 and int(values.max(initial=0)) < 4 * values.size:
        # Counting is ten times faster than sorting; for larger labels it would need more memory.
        occurs = np.bincount(values.astype(np.int64, copy=False)) > 0
        return np.flatnonzero(occurs), (np.cumsum(occurs, dtype=dtype) - dtype(1))[values]
    found, rank = np.unique(values, return_inverse=True)
    return found, rank.astype(dtype, copy=False)


def renumbered(image: Labels) -> tuple[Labels, npt.NDArray[np.uint32]]:
    """Labels of an image, ascending, and the image with each label's number there, from 1."""
    found, number = ranked(image.ravel(), np.uint32)
    if found[0] == 0:
        found = found[1:]
    else:
        number = number + np.uint32(1)
    return found, number.reshape(image.shape)


def centroids(labels: Labels) -> npt.NDArray[np.float64]:
    """Label and mean (y, x) of the pixels of each cell in view, shape (cells, 3), exact."""
    places = np.flatnonzero(labels)
    found, cell = ranked(labels.ravel()[places])
    y, x = np.divmod(places, labels.shape[1])
    size = np.bincount(cell, minlength=len(found))
    sums = (np.bincount(cell, axis, len(found)) for axis in (y, x))
    return np.stack([found, *(total / size for total in sums)], axis=1)


def count_contacts(labels: Sequence[Labels]) -> Ints:
    """Touching pixels of each pair of cells in one frame: rows a, b, contact_px, overlap_px.

    With two types, `contact_px` of a (channel 0) and b (channel 1) is the number of pixel pairs (p,
    q) with p in a, q in b, and q either p itself, which `overlap_px` counts, or one of its four
    neighbours. With one type it is the number of pairs of 4-neighbours of which one pixel is in a
    and the other in b, for a < b.
    """
    first, second = labels[0], labels[-1]
    shifts = ((0, 0), *STEPS) if len(labels) == 2 else STEPS[:2]
    keys = [meeting(first, second, shift, of_one=len(labels) == 1) for shift in shifts]
    pairs, contact_px = np.unique(np.concatenate(keys), return_counts=True)
    overlap_px = np.zeros_like(contact_px)
    if len(labels) == 2:
        overlap_px = np.bincount(np.searchsorted(pairs, keys[0]), minlength=len(pairs))
    return np.stack([pairs >> 32, pairs & 0xFFFFFFFF, contact_px, overlap_px], axis=1)


def contacts_of(frame: int, labels: Sequence[Labels]) -> pl.DataFrame:
    """Table of the pairs of cells that touch in a frame."""
    # A segmentation imports this module, and writes no table.
    import polars as pl

    names = ("frame", "label_a", "label_b", "contact_px")
    rows = np.insert(count_contacts(labels)[:, :3], 0, frame, axis=1)
    return pl.DataFrame(rows, dict.fromkeys(names, pl.Int64), orient="row").cast(pl.Int32)


def meeting(first: Labels, second: Labels, shift: tuple[int, int], *, of_one: bool) -> Ints:
    """The pair of cells, as a * 2**32 + b, of each pixel and the one at (dy, dx) from it."""
    dy, dx = shift
    a, b = first[_kept(dy, dx)], second[_kept(-dy, -dx)]
    met = (a > 0) & (b > 0)
    if of_one:
        met &= a != b
    a, b = a[met].astype(np.int64), b[met].astype(np.int64)
    if of_one:
        a, b = np.minimum(a, b), np.maximum(a, b)
    return np.asarray(a << 32 | b)


def _kept(dy: int, dx: int) -> tuple[slice, slice]:
    """Part of an image whose pixels have a neighbour at (dy, dx)."""
    return (
        slice(max(-dy, 0), -dy if dy > 0 else None),
        slice(max(-dx, 0), -dx if dx > 0 else None),
    )
