"""Pixel work on the OpenCL device: contacts, overlaps and centroids of one frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from pyscale_stages.contact.labels import DenseLabels
from pyscale_stages.contact.strips import (
    Layout,
    Pairs,
    PixelMeasures,
    pairs_across_cuts,
    strips_of,
    summed,
)
from pyscale_stages.errors import ResourceExhausted

SHIFTS = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))
"""(dy, dx) from a pixel to itself and to its four neighbours."""
SUM_LIMIT = 2**31
"""The centroid kernel sums coordinates in signed 32-bit integers and wraps silently beyond."""
NO_ROOM = ("CL_INVALID_BUFFER_SIZE", "CL_MEM_OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_")


def build_kernels(n_types: int, shape_yx: tuple[int, int], layout: Layout) -> None:
    """Run every kernel once on empty images of the shapes that the layout gives.

    The first call compiles, later ones take milliseconds: this belongs to `model_load`, or
    `compute` would depend on how many windows the movie was cut into. A small image would
    not do, for kernels are built for one size.
    """
    strip, frame = (
        [
            DenseLabels(
                labels=np.empty(0, np.uint32),
                area_px=np.empty(0, np.int64),
                image=np.zeros((height, shape_yx[1]), np.uint32),
            )
        ]
        * n_types
        for height in (layout.height, shape_yx[0])
    )
    with _exhaustion_explained(layout):
        _pairs_inside(strip, layout.strip_capacity)
        _centroids(_stack(frame, (0, 0), layout.frame_capacity), layout.frame_capacity)


def fits_sums(cells: DenseLabels) -> npt.NDArray[np.bool_]:
    """Tell for each cell whether its coordinate sums surely fit the device's integers."""
    return cells.area_px * (max(cells.image.shape) + 2) < SUM_LIMIT


def measure(types: Sequence[DenseLabels], layout: Layout) -> PixelMeasures:
    """Measure one frame.

    Two pixels touch where they are 4-neighbours. Of two types, a pixel also touches the pixel
    at its own place, so `contact_px` counts pairs (p in a, q in b) at city-block distance 0
    or 1. Counts are exact: the kernel adds integers atomically. It compares neighbours along
    y, x and z; two types are stacked along z with the second shifted by each step in turn, so
    that what it counts along z are the wanted pairs. Pairs that a cut between strips parts are
    counted on the host.
    """
    n_all = sum(len(cells.labels) for cells in types)
    with _exhaustion_explained(layout):
        inside = [
            _pairs_inside(strip, layout.strip_capacity) for strip in strips_of(types, layout.height)
        ]
        stack = _stack(types, (0, 0), layout.frame_capacity)
        points = _centroids(stack, layout.frame_capacity)
    across = pairs_across_cuts(types, layout.height)
    x_px, y_px = points[:, 1 : n_all + 1].astype(np.float64) - 1
    return PixelMeasures(summed((*inside, *across), len(types[-1].labels)), y_px, x_px)


@contextmanager
def _exhaustion_explained(layout: Layout) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if not any(sign in str(error) for sign in NO_ROOM):
            raise
        raise ResourceExhausted(
            f"the OpenCL device has no memory for matrices of {layout.strip_capacity} x "
            f"{layout.strip_capacity} labels, which {layout.height} row(s) of a frame need: use "
            "a device with more memory, or crop"
        ) from error


def _pairs_inside(strip: Sequence[DenseLabels], capacity: int) -> Pairs:
    """Count the contacts inside one strip; pairs are of the cells' numbers in the frame."""
    n_a, n_all = len(strip[0].labels), sum(len(cells.labels) for cells in strip)
    if len(strip) == 1:
        contact = np.triu(_touching(_stack(strip, (0, 0), capacity))[1 : n_all + 1, 1 : n_all + 1])
        overlap = np.zeros_like(contact)
    else:
        counts = [
            _touching(_stack(strip, shift, capacity))[1 : n_a + 1, n_a + 1 : n_all + 1]
            for shift in SHIFTS
        ]
        contact, overlap = np.sum(counts, axis=0, dtype=np.uint32), counts[0]
    a, b = np.nonzero(contact)
    return Pairs(
        # Numbers in the frame begin at 1.
        a=strip[0].labels[a].astype(np.int64) - 1,
        b=strip[-1].labels[b].astype(np.int64) - 1,
        contact_px=contact[a, b].astype(np.int64),
        overlap_px=overlap[a, b].astype(np.int64),
    )


def _stack(
    types: Sequence[DenseLabels], shift: tuple[int, int], capacity: int
) -> npt.NDArray[np.uint32]:
    """Lay the images in a margin of one pixel, the last of two shifted, numbered throughout.

    The marker in the corner of the margin is the highest label that the capacity allows: it
    makes the size of every matrix the same in all frames. It meets only background, since
    no shift reaches a corner.
    """
    height, width = types[0].image.shape
    stack = np.zeros((len(types), height + 2, width + 2), dtype=np.uint32)
    first = types[0]
    stack[0, 1:-1, 1:-1] = first.image
    if len(types) == 2:
        dy, dx = shift
        # The shifted place holds what lies (dy, dx) further on.
        target = stack[1, 1 - dy : 1 - dy + height, 1 - dx : 1 - dx + width]
        np.add(types[1].image, len(first.labels), out=target, where=types[1].image > 0)
    stack[0, 0, 0] = capacity - 1
    return stack


def _touching(stack: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Symmetric matrix (capacity, capacity) of the pixel pairs between labels."""
    import pyclesperanto as cle

    return np.asarray(cle.generate_touching_area_matrix(stack))


def _centroids(stack: npt.NDArray[np.uint32], capacity: int) -> npt.NDArray[np.float32]:
    """Mean x and y of each label, shape (2, capacity)."""
    import pyclesperanto as cle

    # Without an array to fill, pyclesperanto 0.25.1 makes one that is a row high, writes
    # three rows and so destroys the heap.
    rows_xyz = cle.create((3, capacity), dtype=np.float32)
    cle.centroids_of_labels(stack, rows_xyz, include_background=True)
    return np.asarray(rows_xyz)[:2]
