"""Linking by overlap: a cell is the one that it covers most in a frame before.

Frame by frame, each cell that has no predecessor yet looks for one in the frame before, then in
the frame before that, and so on up to `gap_frames`, among the cells that have no successor yet.
A link therefore depends on the frames that it spans and on no other: windows that read
`gap_frames` before their own frames decide exactly as the whole movie does.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.movie import Pixels
from pyscale_stages.track.lineage import NO_LINKS, Detections, Ints, by_later
from pyscale_stages.track.params import TrackParams
from pyscale_stages.truth.cells import renumbered

LEAST_SHARE = 0.05
"""Share of the later cell that must lie on the earlier one: less is a neighbour's rim."""

Marks = npt.NDArray[np.bool_]


@dataclass
class _Frame:
    """Cells of a frame that may still get a successor."""

    rank: npt.NDArray[Any]
    """The place of each pixel's cell among those of the frame, from 1; 0 is none."""
    first: int
    """Position of the frame's first cell among all detections."""
    is_free: Marks
    """By rank: no successor yet."""


class OverlapLinker:
    """Links the cells of frames that are given one after another."""

    def __init__(self, params: TrackParams) -> None:
        self._splitting = params.splitting
        self._before: deque[_Frame] = deque(maxlen=params.gap_frames)
        self._links: list[Ints] = []
        self._count = 0

    @property
    def links(self) -> Ints:
        """Earlier and later detection of each link found, as positions, by the later one."""
        return by_later(np.concatenate([NO_LINKS, *self._links]))

    def add(self, labels: Pixels, cells: Detections) -> None:
        """Link the cells of the next frame, all in the order of their labels, to those before."""
        is_cell = np.arange(len(cells) + 1) > 0
        # A copy, as the other goes on as `is_new`, and changes below.
        here = _Frame(renumbered(labels)[1].ravel(), self._count, is_free=is_cell.copy())
        self._count += len(cells)
        area_px2 = np.bincount(here.rank, minlength=len(is_cell))
        is_new = is_cell
        for frames_back, before in enumerate(reversed(self._before), start=1):
            # Where many cells are lost at once, all of them would seem to divide.
            most = 2 if self._splitting and frames_back == 1 else 1
            pairs = _covering(before, here, is_new, area_px2)
            chosen = pairs[_nth_of_its_earlier(pairs) < most]
            before.is_free[chosen[:, 0]] = False
            is_new[chosen[:, 1]] = False
            self._links.append(chosen + np.array([before.first, here.first]) - 1)
        self._before.append(here)


def _covering(before: _Frame, here: _Frame, is_new: Marks, area_px2: Ints) -> Ints:
    """For each new cell the free one that it covers most, the largest cover of each first."""
    shared = np.flatnonzero(before.is_free[before.rank] & is_new[here.rank])
    code = before.rank[shared].astype(np.int64) * len(is_new) + here.rank[shared]
    codes, covered_px2 = np.unique(code, return_counts=True)
    earlier, later = np.divmod(codes, len(is_new))
    # Of equal covers that of the smaller label counts, so that windows cannot differ.
    order = np.lexsort((earlier, -covered_px2, later))
    _, best = np.unique(later[order], return_index=True)
    best = order[best]
    best = best[covered_px2[best] >= LEAST_SHARE * area_px2[later[best]]]
    best = best[np.lexsort((later[best], -covered_px2[best], earlier[best]))]
    return np.stack([earlier[best], later[best]], axis=1)


def _nth_of_its_earlier(pairs: Ints) -> Ints:
    """Count the pairs with the same earlier cell, from 0; these stand together."""
    _, first, counts = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    return np.asarray(np.arange(len(pairs)) - np.repeat(first, counts))
