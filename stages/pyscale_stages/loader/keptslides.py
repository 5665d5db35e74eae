"""Opens slides for a pool, and keeps of closed ones what makes opening them again cheap."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.loader.sampling import Places, TissueMap
from pyscale_stages.slides.reading import Reader, open_slide
from pyscale_stages.slides.slide import Slide, level_for
from pyscale_stages.slides.tissue import tissue_mask

KEPT = 32
"""Closed slides of which a process keeps the index of tiles and the tissue.

A mask takes half a MiB at most, and the index of a slide of 100,000 x 100,000 pixels 2.5 MiB.
"""


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
    """Opens slides, each time with places of their own.

    `options`: what patches are to be.
    """

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
