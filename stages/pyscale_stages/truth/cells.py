"""Cells of label images: where they are, whom they touch, and which are the same in two images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl
    from scipy.sparse import coo_array


Labels = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


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


TRUTH_IOU = 0.5
"""What the field counts as the same cell when a segmentation is compared with the truth."""
AGREEMENT_IOU = 0.9
"""Of two outputs of one model more is asked: rounding moves boundary pixels, not cells."""


@dataclass(frozen=True)
class Matches:
    """Cells of two label images that are the same cell by their intersection over union.

    `matched`: pairs of cells with an IoU of `TRUTH_IOU` or more. `matched_closely`: pairs with an
    IoU of `AGREEMENT_IOU` or more. `identical_px`, `size_px`: pixels with the same label, and all
    pixels. `jaccard`: sum of the IoU of each cell of the reference with the cell that covers most
    of it.
    """

    matched: int = 0
    matched_closely: int = 0
    cells_reference: int = 0
    cells_other: int = 0
    identical_px: int = 0
    size_px: int = 0
    jaccard: float = 0.0

    def __add__(self, more: Matches) -> Matches:
        return Matches(*map(add, astuple(self), astuple(more)))

    @property
    def average_precision(self) -> float:
        """Matched cells among all cells of either: TP / (TP + FP + FN); 1 where none has any."""
        return self._among_all(self.matched)

    @property
    def close_precision(self) -> float:
        """The same of the cells that match closely."""
        return self._among_all(self.matched_closely)

    def _among_all(self, matched: int) -> float:
        cells = self.cells_reference + self.cells_other - matched
        return matched / cells if cells else 1.0


def match_cells(reference: Labels, other: Labels) -> Matches:
    """Match the cells of two label images of shape (Y, X), one to one, as many as can be."""
    # Only cells that overlap are looked at: memory and time grow with their number, not its square.
    identical = int((reference == other).sum())
    # Numbers without gaps are places in the arrays below; 0 stays background.
    # scipy matches numbers of 32 bits alone.
    reference, other = (renumbered(image)[1].astype(np.int32) for image in (reference, other))
    area_reference, area_other = (np.bincount(labels.ravel()) for labels in (reference, other))
    overlap = _overlap(reference, other)
    a, b = overlap.coords
    iou = overlap.data / (area_reference[a] + area_other[b] - overlap.data)
    of_cells = (a > 0) & (b > 0)
    matched, matched_closely = (
        _most_pairs(a[of_cells & (iou >= least)], b[of_cells & (iou >= least)])
        for least in (TRUTH_IOU, AGREEMENT_IOU)
    )
    # No two cells cover more than half of one, so each counts once at most.
    most_of_reference = of_cells & (2 * overlap.data > area_reference[a])
    return Matches(
        matched=matched,
        matched_closely=matched_closely,
        cells_reference=len(area_reference) - 1,
        cells_other=len(area_other) - 1,
        identical_px=identical,
        size_px=reference.size,
        jaccard=float(iou[most_of_reference].sum()),
    )


def _overlap(reference: Labels, other: Labels) -> coo_array:
    """Pixels that each pair of labels shares, where there are any; background included."""
    from scipy.sparse import coo_array

    ones = np.ones(reference.size, dtype=np.int32)
    # Summing by rows counts in one pass, where a list of places would be sorted.
    return coo_array((ones, (reference.ravel(), other.ravel()))).tocsr().tocoo()


def _most_pairs(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> int:
    """Largest number of one-to-one pairs among the given ones."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    if not len(a):
        return 0
    allowed = coo_array((np.ones(len(a), dtype=np.int8), (a, b))).tocsr()
    return int((maximum_bipartite_matching(allowed) >= 0).sum())


def summed(matches: Iterable[Matches]) -> Matches:
    """Matches of several images together, so that each weighs as much as the cells it has."""
    return sum(matches, start=Matches())
