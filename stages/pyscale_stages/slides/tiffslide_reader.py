"""Regions of a slide by TiffSlide."""

from __future__ import annotations

import math
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.libraries import how_to_install
from pyscale_stages.slides.reading import check_readable
from pyscale_stages.slides.slide import PerProcess, Pixels, Region, Slide, levels_of, number_said
from pyscale_stages.slides.tifflayout import DAMAGE

if TYPE_CHECKING:
    import tiffslide


class TiffSlideSlide(Slide):
    """A TIFF slide as TiffSlide reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = PerProcess(partial(_open, path), methodcaller("close"))
        slide = self._handle.get()
        self.levels = levels_of([(height, width) for width, height in slide.level_dimensions])
        self.mpp = number_said(slide.properties.get("tiffslide.mpp-x"))
        series = slide.ts_tifffile.series[slide.properties["tiffslide.series-index"]]
        self.channels = series.size // (self.levels[0].height_px * self.levels[0].width_px)
        self.dtype = np.dtype(series.dtype)

    def _pixels(self, region: Region) -> Pixels:
        downsample = self.levels[region.level].downsample
        corner = (_corner(region.x0, downsample), _corner(region.y0, downsample))
        size = (region.width_px, region.height_px)
        try:
            return np.asarray(
                self._handle.get().read_region(corner, region.level, size, as_array=True)
            )
        except DAMAGE as error:
            raise self._unreadable(region, error) from error


def _corner(position: int, downsample: float) -> int:
    """Find the pixel of level 0 from which TiffSlide comes to a pixel of a level, rounding down."""
    corner = math.ceil(position * downsample)
    return corner if int(corner / downsample) == position else corner + 1


def _open(path: Path) -> tiffslide.TiffSlide:
    try:
        import tiffslide
    except ImportError as error:
        raise MissingPart(
            f"the reader tiffslide for {path} is not installed here ({error}): "
            f"{how_to_install('loader')}, or leave out --grid reader"
        ) from error
    check_readable(path)
    try:
        slide = tiffslide.TiffSlide(path)
        # What follows are properties that are found out when they are first asked for.
        _ = slide.level_dimensions, slide.properties
    except DAMAGE as error:
        raise BadInput(
            f"{path} is not a slide that TiffSlide can read ({error}): copy it again if it is "
            "damaged, or remove it from the folder"
        ) from error
    return slide
