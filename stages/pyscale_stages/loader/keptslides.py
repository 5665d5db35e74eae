"""Places of patches on slides, and what is kept of closed slides to open them again cheaply."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.loader.params import LoaderParams
from pyscale_stages.slides.reading import open_slide
from pyscale_stages.slides.slide import Slide, level_for
from pyscale_stages.slides.tissue import LEAST_TISSUE, TissueMap, tissue_mask

TRIES = 50
"""Places drawn for one patch before a slide is put back for another."""
Packed = tuple[npt.NDArray[np.uint8], tuple[int, ...], float]
"""A tissue map: the bits of its mask, the mask's shape, and its downsample."""
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
        """Draw places until one has enough tissue; None ends this slide's turn after `TRIES`."""
        integers = generator.integers
        for _ in range(TRIES):
            plane = int(integers(self._planes)) if self._planes > 1 else 0
            x, y = int(integers(self._x_end)), int(integers(self._y_end))
            if self._tissue is None or self._tissue.fills(x, y, self._side_px):
                self._found_any = True
                return Place(x, y, plane)
        if self._found_any or self._tissue is None or self._tissue.fills_anywhere(self._side_px):
            return None
        # It would be opened and put back for ever.
        raise BadInput(
            f"slide {self._slide.path} has no place of {self._patch_px} x {self._patch_px} "
            f"pixels with {LEAST_TISSUE:.0%} of tissue: leave it out, or take patches from "
            "anywhere (--grid tissue=false)"
        )


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


class KeptSlides:
    """Opens slides, each time with places of their own."""

    def __init__(self, params: LoaderParams) -> None:
        self._params = params
        self._closed: OrderedDict[str, Slide] = OrderedDict()
        self._tissue: OrderedDict[str, Packed] = OrderedDict()

    def open(self, path: str) -> Opened:
        """Open a slide."""
        # Taken out, as the pool may hold a slide twice and closes each by itself.
        slide = self._closed.pop(path, None) or open_slide(Path(path), self._params.reader)
        level = level_for(slide, self._params.mpp)
        tissue = self._tissue_of(path, slide) if self._params.tissue else None
        places = Places(slide, level, self._params.patch_px, tissue)
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
            bits, shape, downsample = self._tissue[path]
            mask = np.unpackbits(bits, count=math.prod(shape)).reshape(shape)
            return TissueMap(mask.view(np.bool_), downsample)
        if slide.channels == 1:
            # Darker than the rest is tissue in stained sections, and background in fluorescence.
            raise BadInput(
                f"slide {path} has no colours to tell tissue from glass: use --grid tissue=false"
            )
        tissue = tissue_mask(slide)
        # A bit for each element of the mask.
        self._tissue[path] = np.packbits(tissue.mask), tissue.mask.shape, tissue.downsample
        if len(self._tissue) > KEPT:
            self._tissue.popitem(last=False)
        return tissue
