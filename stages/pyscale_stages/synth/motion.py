"""How cells move: a persistent random walk, soft repulsion and weak adhesion."""

from __future__ import annotations

import math

import numpy as np

from pyscale_stages.synth.cells import Cells, places_of, radius_px
from pyscale_stages.synth.params import SynthParams

SAME_TYPE_SPACING = 0.92
OTHER_TYPE_SPACING = 0.88
"""Distance of two touching cells over the sum of their radii: below 1, so that they press."""

ADHESION_RANGE = 1.25
ADHESION = 0.06
"""Cells nearer than this multiple of their spacing close this share of the gap."""


class Domain:
    """Where cells live: the field of view and what drift and movement bring into it."""

    def __init__(self, params: SynthParams) -> None:
        largest = params.radius_px * (1 + 2 * params.radius_spread) * math.sqrt(params.elongation)
        margin = params.max_drift_px + 1.5 * largest
        self.low = np.array([-margin, -margin])
        self.high = np.array([params.height_px - 1 + margin, params.width_px - 1 + margin])
        area = float(np.prod(self.high - self.low))
        self._share = area / (params.height_px * params.width_px)
        self._params = params

    def capacity(self, frame: int) -> int:
        """Cells of one type that a frame holds."""
        return max(1, round(self._params.cells * self._params.density(frame) * self._share))


def moved(params: SynthParams, domain: Domain, rng: np.random.Generator, cells: Cells) -> Cells:
    """Take one step of a persistent random walk, reflected at the edge of the domain."""
    cells = cells.copy()
    keep = params.persistence
    kick_sd = math.sqrt(1 - keep**2) * params.speed_px / math.sqrt(2)
    for axis, (place, step) in enumerate((("y_px", "step_y_px"), ("x_px", "step_x_px"))):
        cells[step] = keep * cells[step] + rng.normal(0, kick_sd, len(cells))
        cells[place] += cells[step]
        low, high = domain.low[axis], domain.high[axis]
        outside = (cells[place] < low) | (cells[place] > high)
        cells[step][outside] *= -1
        cells[place] = np.clip(cells[place], low, high)
    cells["age_frames"] += 1
    cells["angle_rad"] += rng.normal(0, 0.06, len(cells))
    for lobe in ("lobe3", "lobe4"):
        cells[lobe] *= np.exp(1j * rng.normal(0, 0.1, len(cells)))
    return cells


def pushed_apart(domain: Domain, cells: Cells, rounds: int) -> Cells:
    """Soft repulsion and weak adhesion, so that cells touch and overlap little."""
    from scipy.spatial import cKDTree

    cells = cells.copy()
    radius = radius_px(cells)
    reach = 2 * float(radius.max()) * SAME_TYPE_SPACING * ADHESION_RANGE
    places = places_of(cells)
    for _ in range(rounds):
        pairs = cKDTree(places).query_pairs(reach, output_type="ndarray")
        first, second = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].T
        apart = places[second] - places[first]
        distance = np.maximum(np.hypot(apart[:, 0], apart[:, 1]), 1e-9)
        same = cells["cell_type"][first] == cells["cell_type"][second]
        spacing = np.where(same, SAME_TYPE_SPACING, OTHER_TYPE_SPACING)
        spacing = spacing * (radius[first] + radius[second])
        gap = distance - spacing
        pull = np.where(gap < ADHESION_RANGE * spacing - spacing, ADHESION * gap, 0.0)
        push = np.where(gap < 0, 0.7 * gap, pull)
        shift = (0.5 * push / distance)[:, None] * apart
        np.add.at(places, first, shift)
        np.subtract.at(places, second, shift)
        places = np.clip(places, domain.low, domain.high)
    cells["y_px"], cells["x_px"] = places.T
    return cells
