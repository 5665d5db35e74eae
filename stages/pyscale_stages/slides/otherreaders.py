"""Regions of slides by OpenSlide and by TiffSlide."""

from __future__ import annotations

import math
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.slides.reading import check_readable
from pyscale_stages.slides.slide import (
    Level,
    PerProcess,
    Pixels,
    Region,
    Slide,
    levels_of,
    number_said,
)
from pyscale_stages.slides.tifflayout import DAMAGE

if TYPE_CHECKING:
    import openslide
    import tiffslide


_GLASS = "ffffff"


class OpenSlideSlide(Slide):
    """A slide in any format that OpenSlide knows, as 8-bit RGB."""

    dtype = np.dtype(np.uint8)
    channels = 3

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = PerProcess(partial(_openslide, path), methodcaller("close"))
        slide = self._handle.get()
        self.levels = tuple(
            Level(height, width, downsample)
            for (width, height), downsample in zip(
                slide.level_dimensions, slide.level_downsamples, strict=True
            )
        )
        self.mpp = number_said(slide.properties.get("openslide.mpp-x"))
        colour = slide.properties.get("openslide.background-color", _GLASS)
        self._glass = np.frombuffer(bytes.fromhex(colour), np.uint8)

    def _pixels(self, region: Region) -> Pixels:
        return self._rgba(region)[..., :3]

    def read_on_glass(self, level: int, y0: int, x0: int, height_px: int, width_px: int) -> Pixels:
        """Read a region, blended with the colour that the slide's glass has."""
        from PIL import Image

        rgba = Image.fromarray(self._rgba(Region(level, y0, x0, height_px, width_px, plane=0)))
        glass = Image.new("RGB", rgba.size, tuple(int(value) for value in self._glass))
        glass.paste(rgba, None, rgba)
        return np.asarray(glass)

    def _rgba(self, region: Region) -> Pixels:
        import openslide

        # Corners are in pixels of level 0 there, whichever level is read.
        downsample = self.levels[region.level].downsample
        corner = (round(region.x0 * downsample), round(region.y0 * downsample))
        size = (region.width_px, region.height_px)
        try:
            return np.asarray(self._handle.get().read_region(corner, region.level, size))
        except openslide.OpenSlideError as error:
            # After an error a handle answers nothing else any more.
            self._handle.close()
            raise self._unreadable(region, error) from error


def _openslide(path: Path) -> openslide.OpenSlide:
    import openslide

    check_readable(path)
    try:
        return openslide.OpenSlide(path)
    except openslide.OpenSlideError as error:
        raise BadInput(
            f"{path} is not a slide that OpenSlide can read{said_by(error)}: copy it again if it "
            "is damaged, or remove it from the folder"
        ) from error


class TiffSlideSlide(Slide):
    """A TIFF slide as TiffSlide reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = PerProcess(partial(_tiffslide, path), methodcaller("close"))
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


def _tiffslide(path: Path) -> tiffslide.TiffSlide:
    import tiffslide

    check_readable(path)
    try:
        slide = tiffslide.TiffSlide(path)
        # What follows are properties that are found out when they are first asked for.
        _ = slide.level_dimensions, slide.properties
    except DAMAGE as error:
        raise BadInput(
            f"{path} is not a slide that TiffSlide can read{said_by(error)}: copy it again if it "
            "is damaged, or remove it from the folder"
        ) from error
    return slide
