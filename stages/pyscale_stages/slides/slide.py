"""The source of patches: an image in levels, of which regions are read."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput, said_by

COARSER = 1.25
"""Scanners differ by less at one magnification; the next one is twice as coarse."""
FINER = 2.5
"""Levels are at most 4 times coarser than the next, so that one this near lies in any pyramid."""

Handle = TypeVar("Handle")

Pixels = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Level:
    """One size of a slide, and how many pixels of level 0 one of its own has along a side."""

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

    def __str__(self) -> str:
        return f"level {self.level}, row {self.y0}, column {self.x0}"

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns."""
        return (slice(self.y0, self.y0 + self.height_px), slice(self.x0, self.x0 + self.width_px))


def levels_of(shapes: list[tuple[int, int]]) -> tuple[Level, ...]:
    """Describe levels from their sizes, the finest first; downsamples are means of both sides."""
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
    """

    path: Path
    levels: tuple[Level, ...]
    """The finest first."""
    mpp: float | None
    """Micrometres per pixel of level 0; None where the file does not say."""
    channels: int
    """Samples of a pixel."""
    dtype: np.dtype[Any]
    planes: int = 1
    """Images of the same size behind each other, such as times of an OME-Zarr image."""
    _handle: PerProcess[Any]

    def read(
        self, level: int, y0: int, x0: int, height_px: int, width_px: int, *, plane: int = 0
    ) -> Pixels:
        """Read a region, in pixels of its level, as a new array (height, width, channels)."""
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

    def read_on_glass(self, level: int, y0: int, x0: int, height_px: int, width_px: int) -> Pixels:
        """Read a region with what was never scanned in the colour of glass, for looking at it."""
        return self.read(level, y0, x0, height_px, width_px)

    @abstractmethod
    def _pixels(self, region: Region) -> Pixels:
        """Read a region that lies in the slide."""

    def close(self) -> None:
        """Close the file; a later read opens it again."""
        self._handle.close()

    def _unreadable(self, where: object, error: Exception) -> BadInput:
        return BadInput(
            f"{self.path} cannot be read at {where}{said_by(error)}: it is damaged; copy it again, "
            "or remove it from the folder"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class PerProcess(Generic[Handle]):
    """Open a handle when it is first needed, and once more in every process that inherits this.

    A handle of a C library is no use after pickling, and after a fork two processes would move one
    file's position. `opener` and `closer` must be picklable.
    """

    def __init__(
        self, opener: Callable[[], Handle], closer: Callable[[Handle], None] | None = None
    ) -> None:
        self._opener = opener
        self._closer = closer
        self._handle: Handle | None = None
        self._process = 0

    def get(self) -> Handle:
        """Give the handle of this process."""
        if self._handle is None or self._process != os.getpid():
            self._handle, self._process = self._opener(), os.getpid()
        return self._handle

    def close(self) -> None:
        """Close the handle of this process, if it has one."""
        if self._closer and self._handle is not None and self._process == os.getpid():
            self._closer(self._handle)
        self._handle = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_handle": None}


def level_for(slide: Slide, mpp: float | None) -> int:
    """Choose the level whose pixels are nearest in size to those asked, the finer of equals."""
    # Patches are never resampled: a finest level coarser by more than a quarter is refused, and a
    # coarsest more than 2.5 times finer.
    if mpp is None:
        return 0
    if slide.mpp is None:
        raise BadInput(
            f"{slide.path} has no pixel size, so {mpp:g} micrometres per pixel cannot be found "
            "in it: leave out --grid mpp"
        )
    sizes = [slide.mpp * level.downsample for level in slide.levels]
    # Levels become coarser, and min takes the first of equals.
    nearest = min(range(len(sizes)), key=lambda level: abs(sizes[level] - mpp))
    if sizes[0] > COARSER * mpp or sizes[nearest] * FINER < mpp:
        held = ", ".join(f"{size:.3g}" for size in sizes)
        raise BadInput(
            f"{slide.path} has no level near {mpp:g} micrometres per pixel (it has {held}): use "
            "one of these with --grid mpp, or leave that out"
        )
    return nearest
