"""Cells that live, move, push each other, divide, arrive and leave, frame by frame."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pyscale_stages.errors import BadInput
from pyscale_stages.synth.cells import (
    GROWTH_FRAMES,
    Cells,
    grown_cells,
    places_of,
    radius_px,
    with_looks,
)
from pyscale_stages.synth.params import SynthParams, random_stream

SAME_TYPE_SPACING = 0.92
OTHER_TYPE_SPACING = 0.88
"""Distance of two touching cells over the sum of their radii: below 1, so that they press."""

ADHESION_RANGE = 1.25
ADHESION = 0.06
"""Cells nearer than this multiple of their spacing close this share of the gap."""
MAX_TRACK_ID = np.iinfo(np.uint16).max


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
    # The frame before keeps its cells as they are.
    cells = cells.copy()
    keep = params.persistence
    # Kicks give back the variance that persistence takes, so that cells keep their speed.
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
        # The tree promises no order, and sums in another one would give other bytes.
        first, second = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].T
        apart = places[second] - places[first]
        # Two cells may lie at one place.
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


def simulate(params: SynthParams) -> Iterator[Cells]:
    """Live cells of each frame, in specimen coordinates; they live beyond the field of view too."""
    domain = Domain(params)
    next_id = 1 + domain.capacity(0) * params.cell_types
    _refuse_unnamable(params, 0, next_id)
    cells = _settled(params, domain)
    yield cells
    for frame in range(1, params.frames):
        rng = random_stream(params.seed, "cells", frame)
        cells = moved(params, domain, rng, cells)
        cells, next_id = _divided(params, rng, cells, next_id)
        cells, next_id = _balanced(params, domain, cells, next_id, frame)
        _refuse_unnamable(params, frame, next_id)
        cells = pushed_apart(domain, cells, rounds=4)
        yield cells


def _refuse_unnamable(params: SynthParams, frame: int, next_id: int) -> None:
    if next_id - 1 > MAX_TRACK_ID:
        raise BadInput(
            f"the movie needs more than {MAX_TRACK_ID} track ids by frame {frame} of "
            f"{params.frames}: use fewer cells, fewer frames or a lower division_rate"
        )


def _settled(params: SynthParams, domain: Domain) -> Cells:
    """Cells of frame 0: anywhere in the domain, pushed apart until they lie side by side."""
    rng = random_stream(params.seed, "cells")
    count = domain.capacity(0)
    places = rng.uniform(domain.low, domain.high, (count * params.cell_types, 2))
    cells = grown_cells(params, rng, places, first_id=1)
    cells["cell_type"] = np.repeat(np.arange(params.cell_types), count)
    return pushed_apart(domain, cells, rounds=60)


def _balanced(
    params: SynthParams, domain: Domain, cells: Cells, next_id: int, frame: int
) -> tuple[Cells, int]:
    """Let cells of each type leave, or arrive where there is room, as the frame asks."""
    from scipy.spatial import cKDTree

    rng = random_stream(params.seed, "turnover", frame)
    capacity = domain.capacity(frame)
    for cell_type in range(params.cell_types):
        surplus = int((cells["cell_type"] == cell_type).sum()) - capacity
        if surplus > 0:
            cells = _without_some(rng, cells, cell_type, surplus)
        elif surplus < 0:
            choices = rng.uniform(domain.low, domain.high, (-surplus, 4, 2))
            room, _ = cKDTree(places_of(cells)).query(choices)
            places = choices[np.arange(-surplus), np.argmax(room, axis=1)]
            arrived = grown_cells(params, rng, places, next_id)
            arrived["cell_type"] = cell_type
            cells = np.concatenate([cells, arrived])
            next_id += len(arrived)
    return cells, next_id


def _divided(
    params: SynthParams, rng: np.random.Generator, cells: Cells, next_id: int
) -> tuple[Cells, int]:
    """Replace some grown cells by two daughters each, with new track ids."""
    grown = cells["age_frames"] >= GROWTH_FRAMES
    divides = grown & (rng.random(len(cells)) < params.division_rate)
    mothers = cells[divides]
    if not len(mothers):
        return cells, next_id
    daughters = np.repeat(mothers, 2)
    daughters["parent_id"] = daughters["track_id"]
    daughters["track_id"] = np.arange(next_id, next_id + len(daughters))
    daughters["age_frames"] = 0
    direction = np.repeat(rng.uniform(0, 2 * math.pi, len(mothers)), 2)
    away = 0.6 * daughters["grown_radius_px"] * np.tile([1.0, -1.0], len(mothers))
    daughters["y_px"] += away * np.sin(direction)
    daughters["x_px"] += away * np.cos(direction)
    # `with_looks` draws another in its place.
    brightness = daughters["brightness"].copy()
    daughters = with_looks(params, rng, daughters)
    # A dye is shared out between daughters, so they look like their mother.
    daughters["brightness"] = brightness
    return np.concatenate([cells[~divides], daughters]), next_id + len(daughters)


def _without_some(rng: np.random.Generator, cells: Cells, cell_type: int, count: int) -> Cells:
    """Let `count` cells of one type leave; newborns go last."""
    candidates = rng.permutation(np.flatnonzero(cells["cell_type"] == cell_type))
    newborn = cells["age_frames"][candidates] == 0
    # Stable, so that cells of one kind stay in the drawn order.
    leaving = candidates[np.argsort(newborn, kind="stable")][:count]
    return np.delete(cells, leaving)
