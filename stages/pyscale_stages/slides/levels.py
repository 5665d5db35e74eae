"""A slide of our own readers, as wsistream takes it: levels of pixels as they are in the file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from wsistream.backends import SlideBackend
from wsistream.types import SlideProperties

from pyscale_stages.errors import BadInput
from pyscale_stages.wording import plural

Pixels = npt.NDArray[Any]
_COLOURS = 3


class LevelSlide(SlideBackend):  # type: ignore[misc]
    """An image in levels, with any number of channels of any type of number.

    A reader sets what stands here when it opens a file.
    """

    path: str
    shapes: list[tuple[int, int]]
    """Height and width of each level, the finest first."""
    mpp: float | None
    """Micrometres per pixel of the finest level; None where the file does not say."""
    channels: int
    dtype: np.dtype[Any]

    @abstractmethod
    def pixels(self, level: int, y0: int, x0: int, height_px: int, width_px: int) -> Pixels:
        """Read a region, in pixels of its level, as a new array (height, width, channels)."""

    def read_region(self, x: int, y: int, level: int, width: int, height: int) -> Pixels:
        """Read a region whose corner is given in pixels of the finest level."""
        tall, wide = self.shapes[level]
        downsample = self._downsample(level)
        # A corner may be rounded to the pixel after the last one where a patch fits.
        top, left = (
            min(round(y / downsample), tall - height),
            min(round(x / downsample), wide - width),
        )
        return self.pixels(level, top, left, height, width)

    def get_thumbnail(self, size: tuple[int, int]) -> npt.NDArray[np.uint8]:
        """Make a small picture of the whole slide."""
        if self.dtype != np.uint8 or self.channels != _COLOURS:
            raise BadInput(
                f"{self.path} has {plural(self.channels, 'channel')} of {self.dtype}, which do not "
                "tell tissue from glass: use --grid tissue=false"
            )
        # The coarsest level that is still finer than the picture.
        wanted = max(self.shapes[0]) / max(size)
        fine = [n for n in range(len(self.shapes)) if self._downsample(n) <= wanted]
        level = fine[-1] if fine else 0
        picture = Image.fromarray(self.pixels(level, 0, 0, *self.shapes[level]))
        picture.thumbnail(size)
        return np.asarray(picture)

    def get_properties(self) -> SlideProperties:
        """Describe the slide."""
        sizes = tuple((width, height) for height, width in self.shapes)
        return SlideProperties(
            path=self.path,
            dimensions=sizes[0],
            level_count=len(sizes),
            level_dimensions=sizes,
            level_downsamples=tuple(map(self._downsample, range(len(sizes)))),
            mpp=self.mpp,
            vendor=None,
        )

    def _downsample(self, level: int) -> float:
        """Pixels of the finest level that one of another has along a side: the mean of both."""
        (height, width), (tall, wide) = self.shapes[0], self.shapes[level]
        return (height / tall + width / wide) / 2
