"""Cells: what one is, new ones at given places, and the pixels that each covers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.synth.params import SynthParams

Cells = npt.NDArray[np.void]
"""One row a cell; see `CELL`."""

CELL = np.dtype(
    [
        ("track_id", "i4"),
        ("parent_id", "i4"),
        ("cell_type", "i4"),
        ("y_px", "f8"),
        ("x_px", "f8"),
        ("step_y_px", "f8"),
        ("step_x_px", "f8"),
        ("grown_radius_px", "f8"),
        ("age_frames", "i4"),
        ("angle_rad", "f8"),
        ("axis_ratio", "f8"),
        ("lobe3", "c16"),
        ("lobe4", "c16"),
        ("brightness", "f8"),
        ("texture_y", "i4"),
        ("texture_x", "i4"),
    ]
)
"""A cell: its identity, place, last step, and the shape and looks it keeps for life."""

GROWTH_FRAMES = 10
"""Frames that a newborn needs to double its area; it divides no sooner."""


def radius_px(cells: Cells) -> npt.NDArray[np.float64]:
    """Radius now: a newborn has half the area of a grown cell."""
    grown_share = np.minimum(cells["age_frames"] / GROWTH_FRAMES, 1.0)
    return np.asarray(cells["grown_radius_px"] * np.sqrt(0.5 + 0.5 * grown_share))


def places_of(cells: Cells) -> npt.NDArray[np.float64]:
    """Centres of the cells, shape (n, 2): y and x."""
    return np.stack([cells["y_px"], cells["x_px"]], axis=1)


def grown_cells(
    params: SynthParams, rng: np.random.Generator, places: npt.NDArray[np.float64], first_id: int
) -> Cells:
    """New cells at `places`, shape (n, 2)."""
    count = len(places)
    cells = np.zeros(count, CELL)
    cells["track_id"] = np.arange(first_id, first_id + count)
    cells["y_px"], cells["x_px"] = places.T
    # Each axis has half of a step's mean square.
    step_sd = params.speed_px / math.sqrt(2)
    cells["step_y_px"], cells["step_x_px"] = rng.normal(0, step_sd, (2, count))
    cells["age_frames"] = GROWTH_FRAMES
    return with_looks(params, rng, cells)


def with_looks(params: SynthParams, rng: np.random.Generator, cells: Cells) -> Cells:
    """Give each cell the size, shape and brightness that it keeps."""
    count = len(cells)
    spread = np.clip(rng.normal(0, 1, count), -2, 2) * params.radius_spread
    cells["grown_radius_px"] = params.radius_px * (1 + spread)
    cells["angle_rad"] = rng.uniform(0, 2 * math.pi, count)
    # Uniform between a circle and the mirror image of the circle about the mean.
    cells["axis_ratio"] = 1 + (params.elongation - 1) * rng.uniform(0, 2, count)
    for lobe in ("lobe3", "lobe4"):
        size = params.irregularity * rng.uniform(0.3, 1, count)
        cells[lobe] = size * np.exp(1j * rng.uniform(0, 2 * math.pi, count))
    cells["brightness"] = np.exp(
        np.clip(rng.normal(0, 1, count), -2.5, 2.5) * params.brightness_spread
    )
    cells["texture_y"], cells["texture_x"] = rng.integers(0, 1 << 16, (2, count))
    return cells


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
