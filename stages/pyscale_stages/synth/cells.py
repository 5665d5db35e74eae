"""The table of cells: what one is, how large it is now, and new ones at given places."""

from __future__ import annotations

import math

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
