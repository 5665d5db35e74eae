"""Analytic outlines of cells: which pixels each covers, at any sub-pixel position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.synth.cells import Cells, radius_px

Labels = npt.NDArray[np.uint16]
"""Label image (Y, X): the track id of the cell that a pixel belongs to, 0 outside."""

MIN_VISIBLE_PX = 16
"""A cell with fewer pixels in view (at the frame's edge) is in no label image."""

CELLS_AT_ONCE = 512
"""Cells computed together: bounds memory in large frames."""


@dataclass(frozen=True)
class Coverage:
    """Pixels that cells of one type cover in one frame; each pixel belongs to one cell.

    `pixel`: int; index into the flattened frame. `cell`: int; row of the cell among those given.
    `level`: float; distance from the cell's centre over that of its outline: 0 centre, 1 outline.
    `along`, `across`: float; position in the cell's own axes, in pixels.
    """

    pixel: npt.NDArray[np.int64]
    cell: npt.NDArray[np.int64]
    level: npt.NDArray[np.float64]
    along: npt.NDArray[np.float64]
    across: npt.NDArray[np.float64]


def cover(cells: Cells, shift_yx: npt.NDArray[np.float64], shape_yx: tuple[int, int]) -> Coverage:
    """Find the pixels whose centre lies in a cell that has `MIN_VISIBLE_PX` of them in view.

    An outline is an ellipse with three- and four-fold lobes. Where outlines overlap, a pixel goes
    to the cell of least power distance (squared distance minus squared radius): borders between
    cells are straight, and what is left of a cell stays in one piece.
    """
    chunks = [
        _inside(cells, start, shift_yx, shape_yx) for start in range(0, len(cells), CELLS_AT_ONCE)
    ]
    pixel, cell, level, along, across, power = (
        np.concatenate(parts) for parts in zip(*chunks, strict=True)
    )
    least = np.full(shape_yx[0] * shape_yx[1], np.inf)
    np.minimum.at(least, pixel, power)
    owned = power == least[pixel]
    size = np.bincount(cell[owned], minlength=len(cells))
    kept = owned & (size >= MIN_VISIBLE_PX)[cell]
    return Coverage(pixel[kept], cell[kept], level[kept], along[kept], across[kept])


def label_image(cells: Cells, coverage: Coverage, shape_yx: tuple[int, int]) -> Labels:
    """Draw the track id of each covered pixel's cell."""
    labels = np.zeros(shape_yx[0] * shape_yx[1], np.uint16)
    labels[coverage.pixel] = cells["track_id"][coverage.cell].astype(np.uint16)
    return labels.reshape(shape_yx)


def _inside(
    cells: Cells, start: int, shift_yx: npt.NDArray[np.float64], shape_yx: tuple[int, int]
) -> tuple[npt.NDArray[Any], ...]:
    """Pixel, cell, level, position and power distance of all pixels in some cells."""
    cells = cells[start : start + CELLS_AT_ONCE]
    radius = radius_px(cells)
    stretch = np.sqrt(cells["axis_ratio"])
    lobes = 1 + np.abs(cells["lobe3"]) + np.abs(cells["lobe4"])
    reach = radius * stretch * lobes
    half = math.ceil(float(reach.max()))
    box = np.arange(-half, half + 1)
    centre_y, centre_x = cells["y_px"] + shift_yx[0], cells["x_px"] + shift_yx[1]
    row = np.rint(centre_y).astype(np.int64)[:, None] + box
    column = np.rint(centre_x).astype(np.int64)[:, None] + box
    off_y, off_x = row - centre_y[:, None], column - centre_x[:, None]
    square = (off_y**2)[:, :, None] + (off_x**2)[:, None, :]
    near = square <= (reach**2)[:, None, None]
    near &= ((row >= 0) & (row < shape_yx[0]))[:, :, None]
    near &= ((column >= 0) & (column < shape_yx[1]))[:, None, :]
    cell, y, x = np.nonzero(near)
    pixel = row[cell, y] * shape_yx[1] + column[cell, x]
    off_y, off_x, square = off_y[cell, y], off_x[cell, x], square[near]
    cosine, sine = np.cos(cells["angle_rad"])[cell], np.sin(cells["angle_rad"])[cell]
    along, across = cosine * off_x + sine * off_y, cosine * off_y - sine * off_x
    # On the ellipse's axes scaled to a circle of the same area.
    scaled = along / stretch[cell] + 1j * (across * stretch[cell])
    distance = np.abs(scaled)
    # The centre has no direction.
    turn = scaled / np.maximum(distance, 1e-9)
    cube = turn * turn * turn
    lobe = (cells["lobe3"][cell] * cube + cells["lobe4"][cell] * (cube * turn)).real
    level = distance / (radius[cell] * (1 + lobe))
    power = square - (radius**2)[cell]
    found = (pixel, cell + start, level, along, across, power)
    return tuple(values[level < 1] for values in found)
