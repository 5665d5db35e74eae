"""Regions of a slide by OpenSlide."""

from __future__ import annotations

from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.libraries import how_to_install
from pyscale_stages.slides.reading import check_readable
from pyscale_stages.slides.slide import Level, PerProcess, Pixels, Region, Slide, number_said

if TYPE_CHECKING:
    import openslide

_GLASS = "ffffff"


class OpenSlideSlide(Slide):
    """A slide in any format that OpenSlide knows, as 8-bit RGB."""

    dtype = np.dtype(np.uint8)
    channels = 3

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = PerProcess(partial(_open, path), methodcaller("close"))
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

    def read_on_glass(
        self, level: int, y0: int, x0: int, height_px: int, width_px: int, *, plane: int = 0
    ) -> Pixels:
        """Read a region, blended with the colour that the slide's glass has."""
        from PIL import Image

        rgba = Image.fromarray(self._rgba(Region(level, y0, x0, height_px, width_px, plane)))
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


def _open(path: Path) -> openslide.OpenSlide:
    try:
        import openslide
    except ImportError as error:
        raise MissingPart(
            f"OpenSlide, which reads {path}, is not installed here ({error}): "
            f"{how_to_install('loader')}"
        ) from error
    check_readable(path)
    try:
        return openslide.OpenSlide(path)
    except openslide.OpenSlideError as error:
        raise BadInput(
            f"{path} is not a slide that OpenSlide can read ({error}): copy it again if it is "
            "damaged, or remove it from the folder"
        ) from error
