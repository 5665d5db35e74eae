"""Cells that live, move, divide, arrive and leave: who is there, frame by frame."""

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
    with_looks,
)
from pyscale_stages.synth.drift import random_stream
from pyscale_stages.synth.motion import Domain, moved, pushed_apart
from pyscale_stages.synth.params import SynthParams

MAX_TRACK_ID = np.iinfo(np.uint16).max


def simulate(params: SynthParams) -> Iterator[Cells]:
    """Live cells of each frame, in specimen coordinates.

    Cells live in a domain larger than the field of view, so that they enter and leave it
    and a drifting camera never sees an edge of the world. The density profile sets how many
    there are: divisions fill up first, then cells arrive; a surplus leaves.
    """
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
    params: SynthParams,
    domain: Domain,
    cells: Cells,
    next_id: int,
    frame: int,
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
    brightness = daughters["brightness"].copy()
    daughters = with_looks(params, rng, daughters)
    # A dye is shared out between daughters, so they look like their mother.
    daughters["brightness"] = brightness
    return np.concatenate([cells[~divides], daughters]), next_id + len(daughters)


def _without_some(rng: np.random.Generator, cells: Cells, cell_type: int, count: int) -> Cells:
    """Let `count` cells of one type leave; newborns go last."""
    candidates = rng.permutation(np.flatnonzero(cells["cell_type"] == cell_type))
    newborn = cells["age_frames"][candidates] == 0
    leaving = candidates[np.argsort(newborn, kind="stable")][:count]
    return np.delete(cells, leaving)
