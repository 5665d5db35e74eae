"""Places of patches on slides, and what is kept of closed slides to open them again cheaply."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.reading import Reader, open_slide
from pyscale_stages.slides.slide import Slide, level_for
from pyscale_stages.slides.tissue import tissue_mask

LEAST_TISSUE = 0.4
"""Share of a patch that must be tissue."""
TRIES = 50
"""Places drawn for one patch before a slide is put back for another."""
KEPT = 32
"""Closed slides of which a process keeps the index of tiles and the tissue.

A mask takes half a MiB at most, and the index of a slide of 100,000 x 100,000 pixels 2.5 MiB.
"""


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
    """The places of one slide's patches, drawn from a generator that all slides share."""

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


@dataclass(frozen=True)
class PatchOptions:
    """What a patch is, and where it may lie.

    `reader`: what reads slides; auto goes by the file. `patch_px`: height and width of a patch, in
    pixels. `mpp`: micrometres per pixel of patches; None is the slide's finest level.
    """

    reader: Reader = "auto"
    patch_px: int = 256
    mpp: float | None = None
    tissue: bool = True


@dataclass(frozen=True)
class Opened:
    """A slide that is open, with the level of its patches and where they lie."""

    path: str
    slide: Slide
    level: int
    places: Places
    keeper: KeptSlides

    def close(self) -> None:
        """Close the slide's file."""
        self.slide.close()
        self.keeper.keep(self)


@dataclass(frozen=True)
class _Bits:
    """A tissue map with one bit for each element of its mask."""

    bits: npt.NDArray[np.uint8]
    shape: tuple[int, ...]
    downsample: float

    @staticmethod
    def of(tissue: TissueMap) -> _Bits:
        """Pack a mask."""
        return _Bits(np.packbits(tissue.mask), tissue.mask.shape, tissue.downsample)

    def tissue(self) -> TissueMap:
        """Unpack the mask."""
        mask = np.unpackbits(self.bits, count=math.prod(self.shape)).reshape(self.shape)
        return TissueMap(mask.view(np.bool_), self.downsample)


class KeptSlides:
    """Opens slides, each time with places of their own."""

    def __init__(self, options: PatchOptions) -> None:
        self._options = options
        self._closed: OrderedDict[str, Slide] = OrderedDict()
        self._tissue: OrderedDict[str, _Bits] = OrderedDict()

    def open(self, path: str) -> Opened:
        """Open a slide."""
        slide = self._closed.pop(path, None) or open_slide(Path(path), self._options.reader)
        level = level_for(slide, self._options.mpp)
        tissue = self._tissue_of(path, slide) if self._options.tissue else None
        places = Places(slide, level, self._options.patch_px, tissue)
        return Opened(path, slide, level, places, self)

    def keep(self, opened: Opened) -> None:
        """Keep a closed slide's index of tiles, for the next time that it is opened."""
        self._closed[opened.path] = opened.slide
        if len(self._closed) > KEPT:
            self._closed.popitem(last=False)

    def _tissue_of(self, path: str, slide: Slide) -> TissueMap:
        """Tissue of a slide, found once while it is among those kept."""
        if path in self._tissue:
            self._tissue.move_to_end(path)
            return self._tissue[path].tissue()
        if slide.channels == 1:
            # Darker than the rest is tissue in stained sections, and background in fluorescence.
            raise BadInput(
                f"slide {path} has no colours to tell tissue from glass: use --grid tissue=false"
            )
        tissue = TissueMap(*tissue_mask(slide))
        self._tissue[path] = _Bits.of(tissue)
        if len(self._tissue) > KEPT:
            self._tissue.popitem(last=False)
        return tissue
