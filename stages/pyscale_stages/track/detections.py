"""Cells of label images as points: one detection per label and frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Pixels
from pyscale_stages.truth.cells import centroids

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LARGEST_LABEL = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Detections:
    """Detections (n,) in the order of their absolute frame, then of their label, with centroids."""

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
    """Centroids of all labels of one frame."""
    low, high = int(labels.min(initial=0)), int(labels.max(initial=0))
    if low < 0 or high > LARGEST_LABEL:
        raise BadInput(
            f"frame {frame} has labels from {labels[labels != 0].min()} to {high}, but labels lie "
            f"between 1 and {LARGEST_LABEL}: label the cells of each frame 1, 2, 3 …"
        )
    label, y_px, x_px = centroids(labels).T
    return Detections(np.full(len(label), frame), label.astype(np.int64), y_px, x_px)


def joined(parts: Iterable[Detections]) -> Detections:
    """Put detections of successive frames into one."""
    nothing, nowhere = np.zeros(0, dtype=np.int64), np.zeros(0)
    listed = [Detections(nothing, nothing, nowhere, nowhere), *parts]
    return Detections(
        *(
            np.concatenate([getattr(part, name) for part in listed])
            for name in ("frame", "label", "y_px", "x_px")
        )
    )
