"""Pixel work on the processor: contacts, overlaps and centroids of one frame, by NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from pyscale_stages.contact.labels import DenseLabels
from pyscale_stages.contact.strips import Pairs, PixelMeasures, met, summed

Centroids = npt.NDArray[np.float64]


def measure(types: Sequence[DenseLabels]) -> PixelMeasures:
    """Measure one frame; `pyscale_stages.contact.pixels.measure` gives the same counts."""
    pairs = summed(_touching(types), len(types[-1].labels))
    centroids = [_centroids(cells) for cells in types]
    y_px, x_px = (np.concatenate(axis) for axis in zip(*centroids, strict=True))
    return PixelMeasures(pairs, y_px, x_px)


def _touching(types: Sequence[DenseLabels]) -> Iterator[Pairs]:
    """Pairs of pixels one step apart and, of two types, at the same place."""
    # Number k of an image stands for place k - 1; background is -1.
    images = [cells.image.astype(np.int64) - 1 for cells in types]
    first, last = images[0], images[-1]
    of_one = len(types) == 1
    steps = [(first[:-1], last[1:]), (first[:, :-1], last[:, 1:])]
    if not of_one:
        steps += [(first[1:], last[:-1]), (first[:, 1:], last[:, :-1])]
    for a, b in steps:
        yield met(a, b, of_one=of_one)
    if not of_one:
        yield met(first, last, of_one=False, overlap=True)


def _centroids(cells: DenseLabels) -> tuple[Centroids, Centroids]:
    """Mean y and x of each cell; the sums are of whole numbers, so exact."""
    y, x = np.nonzero(cells.image)
    place = cells.image[y, x].astype(np.int64) - 1
    n = len(cells.labels)
    area = np.maximum(cells.area_px, 1)
    return (np.bincount(place, y, n) / area, np.bincount(place, x, n) / area)
