"""One way to open a slide of any kind, which says in a sentence what is wrong with it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from wsistream.backends import SlideBackend
from wsistream.types import SlideProperties

from pyscale_stages.errors import BadInput, MissingPart, as_stage_error, said_by
from pyscale_stages.libraries import how_to_install
from pyscale_stages.wording import plural

READERS = {
    "openslide": ("wsistream.backends", "OpenSlideBackend"),
    "tiffslide": ("wsistream.backends", "TiffSlideBackend"),
    "tifffile": ("pyscale_stages.slides.tifffile_reader", "TiledTiff"),
    "zarr": ("pyscale_stages.slides.zarr_reader", "ZarrSlide"),
}
"""Module of each reader, which imports its library, and its class there."""
_COLOURS = {2, 6}
"""RGB and YCbCr, by TIFF's numbers of them."""
Pixels = npt.NDArray[Any]
_CHANNELS_OF_COLOURS = 3


class AnySlide(SlideBackend):  # type: ignore[misc]
    """A slide by the reader asked for, or for auto by that which its kind of file goes with."""

    def __init__(self, reader: str, *, with_thumbnail: bool = True) -> None:
        self._reader = reader
        self._with_thumbnail = with_thumbnail

    def open(self, path: str) -> None:
        """Open a slide: a file, or the folder of an OME-Zarr image as a URI."""
        self.path = path.removeprefix("file://")
        with self._said("is not a readable slide", "copy it again if it is damaged"):
            is_auto = self._reader == "auto"
            reader = reader_of(Path(self.path)) if is_auto else self._reader
            module, name = READERS[reader]
            self._slide: SlideBackend = getattr(import_module(module), name)()
            self._slide.open(self.path)
            # TiffSlide finds them out when they are first asked for.
            self._properties = self._slide.get_properties()

    def close(self) -> None:
        """Close the file."""
        self._slide.close()

    def read_region(self, x: int, y: int, level: int, width: int, height: int) -> Pixels:
        """Read a region whose corner is given in pixels of the finest level."""
        with self._said(f"cannot be read at level {level}, row {y}, column {x} of the finest one"):
            return self._slide.read_region(x, y, level, width, height)  # type: ignore[no-any-return]

    def get_thumbnail(self, size: tuple[int, int]) -> npt.NDArray[np.uint8]:
        """Make a small picture of the whole slide, of one pixel where none is wanted."""
        if not self._with_thumbnail:
            return np.zeros((1, 1, 3), np.uint8)
        with self._said("cannot be read as a whole"):
            return self._slide.get_thumbnail(size)  # type: ignore[no-any-return]

    def get_properties(self) -> SlideProperties:
        """Describe the slide."""
        return self._properties

    @contextmanager
    def _said(self, what: str, remedy: str = "it is damaged; copy it again") -> Iterator[None]:
        """Say in a sentence what a reader's library raises."""
        try:
            yield
        except ImportError as error:
            raise MissingPart(
                f"the reader for {self.path} is not installed here ({error}): "
                f"{how_to_install('loader')}"
            ) from error
        except Exception as error:
            if as_stage_error(error) is not None:
                raise
            raise BadInput(
                f"{self.path} {what}{said_by(error)}: {remedy}, or remove it from the folder"
            ) from error


def reader_of(path: Path) -> str:
    """Choose the reader that a slide's kind of file goes with."""
    if path.is_dir():
        return "zarr"
    import openslide
    import tifffile

    try:
        # It detects files, too, whose compression it does not know.
        openslide.OpenSlide(path).close()
    except openslide.OpenSlideError:
        return "tifffile"
    try:
        with tifffile.TiffFile(path) as tiff:
            page = tiff.pages.first
    except Exception:  # OpenSlide has opened it, whatever tifffile cannot parse of it
        return "openslide"
    # OpenSlide makes 8-bit colours of everything, and finds no levels in sub-directories.
    is_colour = page.dtype == np.uint8 and page.photometric in _COLOURS
    return "openslide" if is_colour and not page.subifds else "tifffile"


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
        if self.dtype != np.uint8 or self.channels != _CHANNELS_OF_COLOURS:
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
