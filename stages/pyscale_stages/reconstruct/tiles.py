"""Cuts of an image for the denoiser, and the pixels that they cannot change.

The engine cuts the image in the same way; this says beforehand what that will give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.reconstruction import Tiling

_HALVINGS = 3
_STEPS_OF_A_BLOCK = 2
"""Convolutions of a residual block, each of which looks one pixel of its scale to either side."""


@dataclass(frozen=True)
class Cut:
    """A tile along one axis, in pixels from the image's first one; ends are excluded."""

    start: int
    """Of the pixels that the tile gives."""
    stop: int
    window_start: int
    """Of the pixels that the network is shown; below 0 they are mirrored."""
    window_stop: int


@dataclass(frozen=True)
class Grid:
    """All tiles of an image."""

    axes: tuple[tuple[Cut, ...], ...]
    """The cuts along each axis; every combination of them is a tile."""
    tile_px: int | None
    """None where the image is not cut."""
    overlap_px: int
    ranks: int

    @property
    def tiles(self) -> int:
        """Tiles of all ranks."""
        return math.prod(len(cuts) for cuts in self.axes)

    @property
    def work_multiplier(self) -> float:
        """Pixels that all ranks denoise, over those of the image."""
        denoised = [sum(cut.window_stop - cut.window_start for cut in cuts) for cuts in self.axes]
        return math.prod(denoised) / math.prod(cuts[-1].stop for cuts in self.axes)

    def tiling(self, rank: int) -> Tiling:
        """Return what the record says of it: tile i belongs to rank i modulo their number."""
        return Tiling(
            tile_px=self.tile_px,
            overlap_px=self.overlap_px,
            tiles=self.tiles,
            tiles_here=len(range(rank, self.tiles, self.ranks)),
            work_multiplier=self.work_multiplier,
        )


def grid_of(shape: Sequence[int], params: ReconstructParams, ranks: int) -> Grid:
    """Cut an image for so many ranks, each of which must have a tile unless some may idle."""
    lengths = tuple(shape[1:])
    if ranks == 1 and params.whole_at_one:
        return Grid(tuple((Cut(0, length, 0, length),) for length in lengths), None, 0, ranks)
    tile_px, overlap_px = params.tile_px, params.overlap_px
    size = " x ".join(str(length) for length in lengths)
    if not _can_be_cut(lengths, params):
        raise BadInput(
            f"tile_px {tile_px} with overlap_px {overlap_px} does not fit an image of {size} "
            f"pixels: set both below {min(lengths)}, or raise size_px"
        )
    grid = Grid(
        tuple(_cuts(length, tile_px, overlap_px) for length in lengths), tile_px, overlap_px, ranks
    )
    if grid.tiles < ranks and not params.idle_ranks:
        raise BadInput(
            f"{ranks} ranks cannot share the {grid.tiles} tiles of {tile_px} px of an image of "
            f"{size} pixels: start at most {grid.tiles} ranks, lower tile_px, or set idle_ranks"
        )
    return grid


def receptive_field_px(blocks: int) -> int:
    """How far, in pixels, the denoiser looks to any side of a pixel, along each axis."""
    # The farthest of all pixels: where one lies at the coarsest scale shifts its view.
    period = 2**_HALVINGS
    steps = _STEPS_OF_A_BLOCK * blocks
    reach = 0
    for pixel in range(period):
        first = last = pixel
        # Backwards through the network: its last convolution, and up from scale to scale.
        first, last = first - 1, last + 1
        for _ in range(_HALVINGS):
            first, last = (first - steps) // 2, (last + steps) // 2
        first, last = first - steps, last + steps
        for _ in range(_HALVINGS):
            # A pixel is made of two of the finer scale along each axis.
            first, last = 2 * first - steps, 2 * last + 1 + steps
        first, last = first - 1, last + 1
        reach = max(reach, pixel - first, last - pixel)
    return reach


def interior_mask(shape: Sequence[int], params: ReconstructParams) -> npt.NDArray[np.bool_]:
    """Pixels, without channels, whose whole view lies in their tile's window and in the image."""
    # It does not depend on how many ranks there are, so that the same pixels are compared. There is
    # none where tiles of this size cut no such image (`shape`).
    lengths = tuple(shape[1:])
    inside = np.zeros(lengths, np.bool_)
    if not _can_be_cut(lengths, params):
        return inside
    reach = receptive_field_px(params.blocks)
    axes = []
    for length in lengths:
        along = np.zeros(length, dtype=np.bool_)
        for cut in _cuts(length, params.tile_px, params.overlap_px):
            first = max(cut.start, max(cut.window_start, 0) + reach)
            last = min(cut.stop, min(cut.window_stop, length) - reach)
            along[first : max(first, last)] = True
        axes.append(along)
    inside[np.ix_(*axes)] = True
    return inside


def _can_be_cut(lengths: tuple[int, ...], params: ReconstructParams) -> bool:
    # A margin is mirrored at the image's edge, and so cannot be as long as the image.
    return max(params.tile_px, params.overlap_px) < min(lengths)


def _cuts(length: int, tile_px: int, overlap_px: int) -> tuple[Cut, ...]:
    """Tiles side by side, the last of them moved back to end where the image does."""
    starts = [*range(0, length - tile_px, tile_px), length - tile_px]
    gives = [0, *(before + tile_px for before, _ in pairwise(starts))]
    return tuple(
        Cut(given, start + tile_px, start - overlap_px, start + tile_px + overlap_px)
        for given, start in zip(gives, starts, strict=True)
    )
