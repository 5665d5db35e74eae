"""Frames cut into strips of few labels, and the pairs of cells that are counted in them.

A device counts the contacts of n labels in a matrix of n x n. Cells touch only what is near,
so a crowded frame is cut into strips, each with a small matrix: memory and time then grow with
the number of cells, not with its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyscale_stages.contact.labels import DenseLabels, densify

Counts = npt.NDArray[np.int64]

SMALLEST_CAPACITY = 256
STRIP_CAPACITY = 512
"""Labels of a strip, where its rows can be fewer: a matrix of this size takes milliseconds."""


@dataclass(frozen=True)
class Layout:
    """Sizes that kernels are built for, the same in frames with about as many cells.

    `height`: rows of a strip. `strip_capacity`: labels that the matrix of a strip has room for,
    with background and the marker. `frame_capacity`: the same of the whole frame, for lists of one
    entry a label.
    """

    height: int
    strip_capacity: int
    frame_capacity: int


@dataclass(frozen=True)
class Pairs:
    """Pairs of touching cells, each once, by places in the labels of their types: a, then b."""

    a: Counts
    b: Counts
    contact_px: Counts
    overlap_px: Counts


@dataclass(frozen=True)
class PixelMeasures:
    """What the pixels of one frame say: of the cells of the first type, then of the second's."""

    pairs: Pairs
    y_px: npt.NDArray[np.float64]
    x_px: npt.NDArray[np.float64]


def capacity_for(n_cells: int) -> int:
    """Number of labels that the kernels are built for, with background and the marker."""
    # Sizes of arrays are part of a kernel's source: in powers of two, few have to be compiled.
    return max(SMALLEST_CAPACITY, 1 << (n_cells + 1).bit_length())


def layout_of(types: Sequence[DenseLabels]) -> Layout:
    """Choose strips for a frame: the whole, or its halves, quarters … until labels are few."""
    frame_capacity = capacity_for(sum(len(cells.labels) for cells in types))
    height = len(types[0].image)
    strip_capacity = frame_capacity
    extents = [_row_extents(cells) for cells in types] if frame_capacity > STRIP_CAPACITY else []
    while strip_capacity > STRIP_CAPACITY and height > 1:
        height = -(-height // 2)
        tops = np.arange(0, len(types[0].image), height)
        present = sum(
            # Both ends are sorted: whatever began before the strip's end and has not ended.
            np.searchsorted(first, tops + height) - np.searchsorted(last, tops)
            for first, last in extents
        )
        strip_capacity = capacity_for(int(np.max(present)))
    return Layout(height, strip_capacity, frame_capacity)


def strips_of(types: Sequence[DenseLabels], height: int) -> Iterator[list[DenseLabels]]:
    """Cut a frame into strips; `labels` of the cells in each are their numbers in the frame."""
    rows = len(types[0].image)
    if height >= rows:
        yield [
            DenseLabels(
                np.arange(1, len(cells.labels) + 1, dtype=np.uint32), cells.area_px, cells.image
            )
            for cells in types
        ]
        return
    for top in range(0, rows, height):
        strips = [cells.image[top : top + height] for cells in types]
        lacking = height - len(strips[0])
        yield [densify(np.pad(strip, ((0, lacking), (0, 0)))) for strip in strips]


def pairs_across_cuts(types: Sequence[DenseLabels], height: int) -> Iterator[Pairs]:
    """Count the pairs of touching pixels that lie in two strips."""
    above, below = (
        [cells.image[rows].astype(np.int64) - 1 for cells in types]
        # Ending at -1 leaves out the last row of the frame, which has none below it.
        for rows in (slice(height - 1, -1, height), slice(height, None, height))
    )
    of_one = len(types) == 1
    yield _met(above[0], below[-1], of_one=of_one)
    if not of_one:
        yield _met(below[0], above[1], of_one=False)


def summed(parts: Iterable[Pairs], n_b: int) -> Pairs:
    """Add up the counts of each pair."""
    listed = list(parts)
    a, b, contact_px, overlap_px = (
        np.concatenate([getattr(part, name) for part in listed])
        for name in ("a", "b", "contact_px", "overlap_px")
    )
    pair, place = np.unique(a * n_b + b, return_inverse=True)
    totals = np.zeros((2, len(pair)), dtype=np.int64)
    for total, counts in zip(totals, (contact_px, overlap_px), strict=True):
        np.add.at(total, place, counts)
    # Without a cell of the second type there is no pair, but a divisor all the same.
    return Pairs(*np.divmod(pair, max(n_b, 1)), *totals)


def _met(a: Counts, b: Counts, *, of_one: bool) -> Pairs:
    """Each pair of cells that meet in the pixels of two images, once each time; ground is -1."""
    touching = (a >= 0) & (b >= 0)
    if of_one:
        touching &= a != b
    a, b = a[touching], b[touching]
    if of_one:
        a, b = np.minimum(a, b), np.maximum(a, b)
    return Pairs(a, b, np.ones_like(a), np.zeros_like(a))


def _row_extents(cells: DenseLabels) -> tuple[Counts, Counts]:
    """First and last row of every cell, each sorted by itself."""
    height, width = cells.image.shape
    row = np.repeat(np.arange(height), width)
    label = cells.image.ravel()
    # Of values assigned to one place the last one stays.
    first, last = (np.zeros(len(cells.labels) + 1, dtype=np.int64) for _ in range(2))
    last[label] = row
    first[label[::-1]] = row[::-1]
    return np.sort(first[1:]), np.sort(last[1:])
