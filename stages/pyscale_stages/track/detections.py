"""Cells of label images as points: one detection per label and frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Pixels

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LARGEST_LABEL = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Detections:
    """Detections in the order of their frame, then of their label.

    `frame`, `label`: shape (n,); absolute frame and label in that frame. `y_px`, `x_px`: shape
    (n,); centroid.
    """

    frame: Ints
    label: Ints
    y_px: Floats
    x_px: Floats

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def keys(self) -> Ints:
        """One ascending number per detection, the same for the same frame and label."""
        return (self.frame << 32) | self.label

    def within(self, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Mark the detections of the frames start to stop (excluded)."""
        return (self.frame >= start) & (self.frame < stop)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Detections:
        """Keep the marked detections."""
        return Detections(
            self.frame[chosen], self.label[chosen], self.y_px[chosen], self.x_px[chosen]
        )


def detect(labels: Pixels, frame: int) -> Detections:
    """Centroids of all labels of one frame, exact: sums of coordinates are whole numbers."""
    places = np.flatnonzero(labels)
    values = labels.ravel()[places]
    if len(values) and not 0 < int(values.min()) <= int(values.max()) <= LARGEST_LABEL:
        raise BadInput(
            f"frame {frame} has labels from {values.min()} to {values.max()}, but labels lie "
            f"between 1 and {LARGEST_LABEL}: label the cells of each frame 1, 2, 3 …"
        )
    found, cell = _ranked(values.astype(np.int64))
    size = np.bincount(cell, minlength=len(found))
    y, x = np.divmod(places, labels.shape[1])
    return Detections(
        frame=np.full(len(found), frame, dtype=np.int64),
        label=found,
        y_px=np.bincount(cell, weights=y, minlength=len(found)) / size,
        x_px=np.bincount(cell, weights=x, minlength=len(found)) / size,
    )


def joined(parts: Iterable[Detections]) -> Detections:
    """Put detections of successive frames into one."""
    listed = list(parts)
    if not listed:
        nothing = np.zeros(0, dtype=np.int64)
        return Detections(nothing, nothing, nothing.astype(float), nothing.astype(float))
    return Detections(
        *(
            np.concatenate([getattr(part, name) for part in listed])
            for name in ("frame", "label", "y_px", "x_px")
        )
    )


def places(labels: Pixels, known: Ints) -> npt.NDArray[np.int32]:
    """Replace each label by its place in `known`, the ascending labels, from 1; 0 stays."""
    largest = int(known.max(initial=0))
    if largest > labels.size:
        # A table up to the largest label would be larger than the frame.
        place = np.searchsorted(known, labels) + 1
        return np.where(labels == 0, 0, place).astype(np.int32)
    table = np.zeros(largest + 1, dtype=np.int32)
    table[known] = np.arange(1, len(known) + 1)
    return table[labels]


def _ranked(values: Ints) -> tuple[Ints, Ints]:
    """Labels that occur, ascending, and the rank of each pixel's label among them."""
    largest = int(values.max(initial=0))
    if largest <= len(values):
        # Counting is ten times faster than sorting; labels beyond that would waste memory.
        occurs = np.bincount(values) > 0
        rank = np.cumsum(occurs) - 1
        return np.flatnonzero(occurs), rank[values]
    found, rank = np.unique(values, return_inverse=True)
    return found, rank
