"""Places of patches on one slide: drawn at random, kept where tissue is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.slide import Slide

LEAST_TISSUE = 0.4
"""Share of a patch that must be tissue."""
TRIES = 50
"""Places drawn for one patch before a slide is put back for another."""


@dataclass(frozen=True)
class Place:
    """Upper left corner of a patch, in pixels of the slide's finest level."""

    x: int
    y: int
    plane: int = 0


@dataclass(frozen=True)
class TissueMap:
    """Where a slide has tissue, at a coarser scale.

    `mask`: shape (height, width); True where there is tissue. `downsample`: pixels of the finest
    level that one element of the mask stands for, along an axis.
    """

    mask: npt.NDArray[np.bool_]
    downsample: float

    def fills(self, x: int, y: int, side_px: int) -> bool:
        """Whether enough of a square of the finest level is tissue."""
        height, width = self.mask.shape
        left = min(int(x / self.downsample), width - 1)
        top = min(int(y / self.downsample), height - 1)
        side = self._side(side_px)
        part = self.mask[top : top + side, left : left + side]
        return np.count_nonzero(part) / part.size >= LEAST_TISSUE

    def fills_anywhere(self, side_px: int) -> bool:
        """Whether any square of the slide has enough tissue."""
        side = self._side(side_px)
        sums = np.pad(self.mask, ((1, 0), (1, 0))).astype(np.int64).cumsum(0).cumsum(1)
        height, width = self.mask.shape
        down, right = min(side, height), min(side, width)
        tissue = sums[down:, right:] - sums[:-down, right:] - sums[down:, :-right]
        tissue += sums[:-down, :-right]
        return bool(tissue.max() / (down * right) >= LEAST_TISSUE)

    def _side(self, side_px: int) -> int:
        """Elements of the mask along the side of a square of the finest level."""
        return max(1, int(side_px / self.downsample))


class Places:
    """The places of one slide's patches, drawn from a generator that all slides share.

    `slide`: what patches are read from. `level`: the level that they are read at. `patch_px`: their
    height and width, in pixels of that level. `tissue`: where they may lie; None is anywhere.
    """

    def __init__(self, slide: Slide, level: int, patch_px: int, tissue: TissueMap | None) -> None:
        finest, here = slide.levels[0], slide.levels[level]
        self._slide = slide
        self._tissue = tissue
        self._planes = slide.planes
        self._patch_px = patch_px
        # What a patch covers of the finest level, in which places are told.
        self._side_px = int(patch_px * here.downsample)
        self._x_end = finest.width_px - self._side_px + 1
        self._y_end = finest.height_px - self._side_px + 1
        if min(self._x_end, self._y_end, here.width_px - patch_px + 1) < 1 or (
            here.height_px < patch_px
        ):
            raise BadInput(
                f"slide {slide.path} has {here.height_px} x {here.width_px} pixels at level "
                f"{level}, less than a patch of {patch_px}: leave it out, or use smaller patches "
                "(--grid patch_px=...)"
            )
        self._found_any = False

    def draw(self, generator: np.random.Generator) -> Place | None:
        """Draw places until one has enough tissue.

        Returns: None where no place of `TRIES` had enough, which ends this slide's turn.
        """
        integers = generator.integers
        for _ in range(TRIES):
            plane = int(integers(self._planes)) if self._planes > 1 else 0
            x, y = int(integers(self._x_end)), int(integers(self._y_end))
            if self._tissue is None or self._tissue.fills(x, y, self._side_px):
                self._found_any = True
                return Place(x, y, plane)
        self._refuse_a_slide_without_places()
        return None

    def _refuse_a_slide_without_places(self) -> None:
        """Refuse what would be opened and put back for ever."""
        if self._found_any or self._tissue is None or self._tissue.fills_anywhere(self._side_px):
            return
        raise BadInput(
            f"slide {self._slide.path} has no place of {self._patch_px} x {self._patch_px} "
            f"pixels with {LEAST_TISSUE:.0%} of tissue: leave it out, or take patches from "
            "anywhere (--grid tissue=false)"
        )
