"""Which cells of two label images are the same cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.truth.cells import renumbered

if TYPE_CHECKING:
    from scipy.sparse import coo_array

Labels = npt.NDArray[Any]

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
