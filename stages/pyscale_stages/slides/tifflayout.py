"""Facts of a TIFF from its directories, parsed once: the size of its pixels, and its tiles."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.slides.reading import check_readable
from pyscale_stages.slides.slide import Level, levels_of, number_said
from pyscale_stages.slides.tiledecode import TileDecoder

if TYPE_CHECKING:
    import tifffile


_UM_PER_RESOLUTION_UNIT = {2: 25_400.0, 3: 10_000.0}
"""Micrometres in an inch and in a centimetre, by TIFF's numbers of them."""
_UM = {"nm": 1e-3, "µm": 1.0, "um": 1.0, "micron": 1.0, "mm": 1e3, "cm": 1e4, "m": 1e6}

DAMAGE = (
    ValueError,
    OSError,
    RuntimeError,
    ArithmeticError,
    LookupError,
    TypeError,
    AttributeError,
    struct.error,
)
"""What parsers of TIFF raise where a directory says what cannot be."""


@contextmanager
def opened(path: Path) -> Iterator[tifffile.TiffFile]:
    """Open a TIFF file, for its directories."""
    import tifffile

    check_readable(path)
    try:
        with tifffile.TiffFile(path) as tiff:
            yield tiff
    except DAMAGE as error:
        raise BadInput(
            f"{path} is not a readable slide, or is damaged{said_by(error)}: copy it again, or "
            "remove it from the folder"
        ) from error


def mpp_in(tiff: tifffile.TiffFile) -> float | None:
    """Read how many micrometres a pixel has, wherever a file of its kind says so; else None."""
    page = tiff.pages.first
    if tiff.is_svs:
        said = re.search(r"\|\s*MPP\s*=\s*([^|\s]+)", page.description)
        return number_said(said[1]) if said else None
    if tiff.is_ome and tiff.ome_metadata:
        try:
            pixels = ElementTree.fromstring(tiff.ome_metadata).find(".//{*}Image/{*}Pixels")
        except ElementTree.ParseError:
            return None
        size = None if pixels is None else number_said(pixels.get("PhysicalSizeX"))
        # Micrometres are OME's default.
        unit = None if pixels is None else _UM.get(pixels.get("PhysicalSizeXUnit", "µm"))
        return size * unit if size and unit else None
    numerator, denominator = page.tags.valueof(282, (0, 1))
    # TIFF's unit is the inch where a file names none.
    unit_um = _UM_PER_RESOLUTION_UNIT.get(int(page.tags.valueof(296, 2)))
    if tiff.is_imagej and tiff.imagej_metadata:
        unit_um = _UM.get(tiff.imagej_metadata.get("unit", ""), unit_um)
    return unit_um * denominator / numerator if unit_um and numerator and denominator else None


@dataclass(frozen=True, slots=True)
class TiledLevel:
    """The tiles of one level.

    `across`: tiles side by side. `offsets`, `counts`: int64; shape (groups, tiles): where each tile
    lies and how many bytes it has. A group holds all samples of a pixel, or one channel where
    channels are kept apart.
    """

    across: int
    offsets: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    decoder: TileDecoder


@dataclass(frozen=True, slots=True)
class TiffLayout:
    """A tiled TIFF, as its directories describe it; a tile that was never written is a gap."""

    levels: tuple[Level, ...]
    tiles: tuple[TiledLevel, ...]
    mpp: float | None
    channels: int
    dtype: np.dtype[Any]
    has_gaps: bool


@dataclass(frozen=True, slots=True)
class OtherKind:
    """A TIFF that is none of tiles which lie behind each other; `why` says what is different."""

    why: str
    is_for_openslide: bool


def tiff_layout(path: Path) -> TiffLayout | OtherKind:
    """Parse the directories of a tiled TIFF."""
    with opened(path) as tiff:
        if not tiff.series:
            raise BadInput(f"{path} holds no image: copy it again, or remove it from the folder")
        other = _other_kind(tiff)
        if other:
            return other
        tiles: list[TiledLevel] = []
        shapes: list[tuple[int, int]] = []
        for pages in _pages_of_levels(tiff):
            decoder = TileDecoder.of(pages[0])
            if isinstance(decoder, str):
                return OtherKind(decoder, is_for_openslide=True)
            height, width = pages[0].imagelength, pages[0].imagewidth
            across, down = (
                math.ceil(width / decoder.width_px),
                math.ceil(height / decoder.height_px),
            )
            tiles.append(TiledLevel(across, *_index(path, pages, across * down), decoder))
            shapes.append((height, width))
        first = tiles[0]
        return TiffLayout(
            levels=levels_of(shapes),
            tiles=tuple(tiles),
            mpp=mpp_in(tiff),
            channels=first.offsets.shape[0] * first.decoder.samples,
            dtype=np.dtype(first.decoder.dtype).newbyteorder("="),
            has_gaps=any(bool((level.counts == 0).any()) for level in tiles),
        )


def _other_kind(tiff: tifffile.TiffFile) -> OtherKind | None:
    page, axes = tiff.pages.first, tiff.series[0].axes
    for kind in ("ndpi", "scn", "bif", "philips"):
        # Their tiles overlap, lie in several areas, or are padded: each maker's rules differ.
        if getattr(tiff, f"is_{kind}"):
            return OtherKind(f"it is a slide of the kind {kind}", is_for_openslide=True)
    if not page.is_tiled:
        return OtherKind("its pixels are not in tiles", is_for_openslide=False)
    if axes not in {"YX", "YXS", "SYX", "CYX"}:
        return OtherKind(f"it has the axes {axes}", is_for_openslide=False)
    return None


def _pages_of_levels(tiff: tifffile.TiffFile) -> list[list[tifffile.TiffPage]]:
    """The pages of each level, the finest first; several where channels are pages."""
    first, levels = tiff.pages.first, tiff.series[0].levels
    if first.subifds or len(levels[0].pages) > 1:
        found = [[page.aspage() for page in level.pages if page] for level in levels]
        return [pages for pages in found if pages[0].is_tiled]
    # Thumbnail, label and macro are in strips, or are not said to be the same image reduced. In
    # Aperio's slides no level says so.
    others = [tiff.pages[number].aspage() for number in range(1, len(tiff.pages))]
    kind = (first.samplesperpixel, first.dtype)
    found = [
        [page]
        for page in others
        if page.is_tiled
        and (tiff.is_svs or page.is_reduced)
        and (page.samplesperpixel, page.dtype) == kind
    ]
    return [[first], *sorted(found, key=lambda pages: -pages[0].imagewidth)]


def _index(
    path: Path, pages: list[tifffile.TiffPage], tiles: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Offset and size of every tile, as (groups, tiles)."""
    first = pages[0]
    groups = len(pages) * (first.samplesperpixel if first.planarconfig != 1 else 1)
    offsets = np.array([page.dataoffsets for page in pages], np.int64)
    counts = np.array([page.databytecounts for page in pages], np.int64)
    if offsets.size != groups * tiles or counts.size != groups * tiles:
        raise BadInput(
            f"{path} lists {offsets.size} tiles instead of {groups * tiles}: it is damaged; copy "
            "it again"
        )
    end, size = int((offsets + counts).max()), path.stat().st_size
    if end > size:
        raise BadInput(
            f"{path} ends at byte {size}, its pixels at byte {end}: it is truncated; copy it again"
        )
    return offsets.reshape(groups, tiles), counts.reshape(groups, tiles)
