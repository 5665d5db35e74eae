"""Tiled TIFF by tifffile: each tile is read by its place in the file and decoded."""

from __future__ import annotations

import math
import os
import re
from functools import lru_cache
from xml.etree import ElementTree

import numpy as np
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.opening import LevelSlide, Pixels

KEPT_BYTES = 32 * 2**20
"""Decoded tiles that are kept of each open slide: as much as OpenSlide keeps."""
_WHITE = 255
_MAKERS = ("ndpi", "scn", "bif", "philips")
"""Of slides whose tiles overlap, lie in several areas, or are padded."""
_JPEG, _APERIO_JPEG2000_YCBCR = 7, 33003
_SCAN, _END = 0xDA, 0xD9
_BETWEEN_SCANS = frozenset({_SCAN, 0xC4, 0xDB, 0xDD})
"""Markers that may follow a scan: another, or tables for it."""
_PADDING = b"\0\xff"
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""In a scan, 0xff is followed by 0 or by a number from the restart markers, and else a marker."""
_GREY, _RGB, _YCBCR = 1, 2, 6
_UM_PER_RESOLUTION_UNIT = {2: 25_400.0, 3: 10_000.0}
"""Micrometres in an inch and in a centimetre, by TIFF's numbers of them."""
_UM = {"nm": 1e-3, "µm": 1.0, "um": 1.0, "micron": 1.0, "mm": 1e3, "cm": 1e4, "m": 1e6}


class TiledTiff(LevelSlide):
    """A tiled TIFF; tiles that were never written are white in 8-bit colours, and else 0."""

    def open(self, path: str) -> None:
        """Parse the directories."""
        self.path = path
        self._tiff = tifffile.TiffFile(path)
        levels = self._tiff.series[0].levels
        # Several pages where channels are kept apart.
        pages = [[page.aspage() for page in level.pages if page] for level in levels]
        self._refuse_what_is_read_wrong(pages[0][0])
        self._pages = [level for level in pages if level[0].is_tiled]
        self.mpp = mpp_in(self._tiff)
        self.shapes = [(level[0].imagelength, level[0].imagewidth) for level in self._pages]
        first = self._pages[0][0]
        self._planes = first.samplesperpixel if first.planarconfig == 2 else 1
        self.channels = len(self._pages[0]) * first.samplesperpixel
        self.dtype = np.dtype(first.dtype).newbyteorder("=")
        for page in (page for level in self._pages for page in level):
            self._check_whole(page)
        tile_bytes = math.prod(self._tile_shape(0)) * self.dtype.itemsize
        self._tile = lru_cache(max(1, KEPT_BYTES // tile_bytes))(self._decoded)

    def close(self) -> None:
        """Close the file and forget its tiles."""
        self._tiff.close()
        self._tile.cache_clear()

    def _check_whole(self, page: tifffile.TiffPage) -> None:
        # Without data it raises where tiles of this kind cannot be decoded.
        page.decode(None, 0)
        tiles = math.prod(_across_down(page)) * self._planes
        offsets, counts = page.dataoffsets, page.databytecounts
        if not len(offsets) == len(counts) == tiles:
            raise ValueError(f"it lists {len(offsets)} tiles instead of {tiles}")
        if max(map(int.__add__, offsets, counts)) > self._tiff.filehandle.size:
            raise ValueError("it is truncated")

    def _refuse_what_is_read_wrong(self, page: tifffile.TiffPage) -> None:
        """Refuse what tifffile would give other pixels of than those that are meant."""
        makers = [name for name in _MAKERS if getattr(self._tiff, f"is_{name}")]
        is_jpeg = page.compression == _JPEG
        why = ""
        if makers:
            why = f"it is a slide of the kind {makers[0]}"
        elif not page.is_tiled:
            why = "its pixels are not in tiles"
        elif self._tiff.series[0].axes not in {"YX", "YXS", "SYX", "CYX"}:
            why = f"it has the axes {self._tiff.series[0].axes}"
        elif page.compression == _APERIO_JPEG2000_YCBCR:
            why = "its JPEG 2000 tiles are in YCbCr"
        elif page.photometric not in ({_GREY, _RGB, _YCBCR} if is_jpeg else {_GREY, _RGB}):
            why = f"its colours are {getattr(page.photometric, 'name', page.photometric)}"
        if why:
            raise BadInput(
                f"the reader tifffile does not support {self.path} ({why}): use --grid "
                "reader=openslide, or write it as a tiled TIFF or OME-Zarr"
            )

    def pixels(self, level: int, y0: int, x0: int, height_px: int, width_px: int) -> Pixels:
        """Put a region together from its tiles."""
        tall, wide, samples = self._tile_shape(level)
        y1, x1 = y0 + height_px, x0 + width_px
        found = np.empty((height_px, width_px, self.channels), self.dtype)
        for row in range(y0 // tall, (y1 - 1) // tall + 1):
            top = row * tall
            ya, yb = max(y0, top), min(y1, top + tall)
            for column in range(x0 // wide, (x1 - 1) // wide + 1):
                left = column * wide
                xa, xb = max(x0, left), min(x1, left + wide)
                for channel in range(0, self.channels, samples):
                    tile = self._tile(level, row, column, channel)
                    part = found[ya - y0 : yb - y0, xa - x0 : xb - x0, channel : channel + samples]
                    part[:] = tile[ya - top : yb - top, xa - left : xb - left]
        return found

    def _decoded(self, level: int, row: int, column: int, channel: int) -> Pixels:
        """Give one tile, whose pixels nobody may change; `channel` is its first."""
        pages = self._pages[level]
        number, plane = divmod(channel, self.channels // len(pages))
        page = pages[number]
        across, down = _across_down(page)
        # Of samples that are kept apart a page has the tiles of one behind those of another.
        index = row * across + column + (plane * across * down if self._planes > 1 else 0)
        offset, size = page.dataoffsets[index], page.databytecounts[index]
        if size == 0:
            is_colour = self.dtype == np.uint8 and self.channels > 1
            return np.full(self._tile_shape(level), _WHITE if is_colour else 0, self.dtype)
        data = os.pread(self._tiff.filehandle.fileno(), size, offset)
        if page.compression == _JPEG and not is_whole(data):
            # tifffile would give grey in place of what is missing.
            raise ValueError(f"the JPEG data of tile {row}, {column} are incomplete")
        decoded, _, _ = page.decode(data, index, jpegtables=page.jpegtables)
        tile: Pixels = decoded[0]  # type: ignore[index]
        return tile

    def _tile_shape(self, level: int) -> tuple[int, int, int]:
        page = self._pages[level][0]
        return page.tilelength, page.tilewidth, page.samplesperpixel // self._planes


def _across_down(page: tifffile.TiffPage) -> tuple[int, int]:
    """Tiles side by side, and one below the other."""
    return (
        math.ceil(page.imagewidth / page.tilewidth),
        math.ceil(page.imagelength / page.tilelength),
    )


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


def number_said(text: str | None) -> float | None:
    """Read a size from a property of a slide; None where it says no size."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < math.inf else None


def is_whole(data: bytes) -> bool:
    """Find whether the scans of a JPEG image end where they should."""
    # Changed bytes that still decode stay unfound.
    try:
        scan = _scan_after(data, 2)
        while scan:
            found = _MARKER.search(data, scan)
            if found is None:
                return False
            marker = data[found.start() + 1]
            if marker == _END:
                return not data[found.end() :].strip(_PADDING)
            if marker not in _BETWEEN_SCANS:
                return False
            scan = _scan_after(data, found.start())
    except IndexError:
        pass
    return False


def _scan_after(data: bytes, at: int) -> int:
    """Where the next scan begins, past the segments from `at` on; 0 where they are none."""
    while data[at] == 0xFF:
        after = at + 2 + (data[at + 2] << 8) + data[at + 3]
        if data[at + 1] == _SCAN:
            return after
        at = after
    return 0
