"""What patches are read from: an image in levels, of which regions are read."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput

Pixels = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Level:
    """One size at which a slide is kept.

    Attributes
    ----------
    height_px, width_px : int
        Size in pixels of this level.
    downsample : float
        Pixels of level 0 that one pixel of this level covers, along one side.
    """

    height_px: int
    width_px: int
    downsample: float


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of a slide: which level and plane, its upper left corner and its size there."""

    level: int
    y0: int
    x0: int
    height_px: int
    width_px: int
    plane: int

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns."""
        return (
            slice(self.y0, self.y0 + self.height_px),
            slice(self.x0, self.x0 + self.width_px),
        )


def levels_of(shapes: list[tuple[int, int]]) -> tuple[Level, ...]:
    """Describe levels from their sizes.

    Parameters
    ----------
    shapes : list of (int, int)
        Height and width of each level in pixels, the finest first.

    Returns
    -------
    tuple of Level
        How much coarser one is follows from both sides: their ratios differ where a side was
        rounded, and the mean is taken.
    """
    height, width = shapes[0]
    return tuple(Level(h, w, (height / h + width / w) / 2) for h, w in shapes)


def number_said(text: str | None) -> float | None:
    """Read a size from a property of a slide; None where it says no size."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < math.inf else None


class Slide(ABC):
    """An image in levels, the finest first, of which regions are read.

    Nothing is kept open that a process of a data loader could not use: a slide may be handed to
    another process, by pickling or by a fork, and opens its file there when it first reads.

    Attributes
    ----------
    path : Path
    levels : tuple of Level
        The finest first.
    mpp : float or None
        Micrometres per pixel of level 0; None where the file does not say.
    channels : int
        Samples of a pixel.
    dtype : numpy dtype
    planes : int
        Images of the same size behind each other, such as frames of a stack.
    """

    path: Path
    levels: tuple[Level, ...]
    mpp: float | None
    channels: int
    dtype: np.dtype[Any]
    planes: int = 1

    def read(
        self, level: int, y0: int, x0: int, height_px: int, width_px: int, *, plane: int = 0
    ) -> Pixels:
        """Read a region.

        Parameters
        ----------
        level : int
            Which level; 0 is the finest.
        y0, x0 : int
            Upper left corner, in pixels of this level.
        height_px, width_px : int
            Size, in pixels of this level.
        plane : int
            Which plane, of several.

        Returns
        -------
        ndarray
            Shape (height_px, width_px, channels); not shared with any other region.

        Raises
        ------
        BadInput
            If the region lies outside the slide, or its pixels cannot be read.
        """
        if not 0 <= level < len(self.levels):
            raise BadInput(
                f"{self.path} has no level {level}: it has {len(self.levels)}, counted from 0"
            )
        if not 0 <= plane < self.planes:
            raise BadInput(f"{self.path} has no plane {plane}: it has {self.planes}, from 0")
        size = self.levels[level]
        if (
            min(y0, x0) < 0
            or min(height_px, width_px) < 1
            or y0 + height_px > size.height_px
            or x0 + width_px > size.width_px
        ):
            raise BadInput(
                f"a region of {height_px} x {width_px} px at ({y0}, {x0}) is not inside level "
                f"{level} of {self.path} ({size.height_px} x {size.width_px} px): take smaller "
                "patches, or larger slides"
            )
        return self._pixels(Region(level, y0, x0, height_px, width_px, plane))

    def read_on_glass(
        self, level: int, y0: int, x0: int, height_px: int, width_px: int, *, plane: int = 0
    ) -> Pixels:
        """Read a region with what was never scanned in the colour of glass, for looking at it.

        Parameters and errors are those of `read`, which leaves such pixels as the file has them.
        """
        return self.read(level, y0, x0, height_px, width_px, plane=plane)

    @abstractmethod
    def _pixels(self, region: Region) -> Pixels:
        """Read a region that lies in the slide."""

    @abstractmethod
    def close(self) -> None:
        """Close the file; a later read opens it again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
