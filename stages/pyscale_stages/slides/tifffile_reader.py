"""Regions of a tiled TIFF: each tile is read by its place in the file and decoded."""

from __future__ import annotations

import os
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.slide import PerProcess, Pixels, Region, Slide
from pyscale_stages.slides.tifflayout import OtherKind, TiffLayout, tiff_layout

KEPT_BYTES = 32 * 2**20
"""Decoded tiles that are kept of each open slide: as much as OpenSlide keeps."""
_WHITE = 255


class TiledTiff(Slide):
    """A tiled TIFF whose directories were parsed once.

    Tiles that were never written are white where pixels are 8-bit colours, and else 0.
    """

    def __init__(self, path: Path, layout: TiffLayout) -> None:
        self.path = path
        self.levels = layout.levels
        self.mpp = layout.mpp
        self.channels = layout.channels
        self.dtype = layout.dtype
        self._tiles = layout.tiles
        self._handle = PerProcess(partial(os.open, path, os.O_RDONLY | os.O_CLOEXEC), os.close)
        self._kept: OrderedDict[tuple[int, int, int], Pixels] = OrderedDict()
        self._kept_bytes = 0

    def _pixels(self, region: Region) -> Pixels:
        index = self._tiles[region.level]
        tall, wide = index.decoder.height_px, index.decoder.width_px
        samples, groups = index.decoder.samples, len(index.offsets)
        y0, x0 = region.y0, region.x0
        y1, x1 = y0 + region.height_px, x0 + region.width_px
        pixels = np.empty((region.height_px, region.width_px, self.channels), self.dtype)
        for row in range(y0 // tall, (y1 - 1) // tall + 1):
            top = row * tall
            ya, yb = max(y0, top), min(y1, top + tall)
            for column in range(x0 // wide, (x1 - 1) // wide + 1):
                left = column * wide
                xa, xb = max(x0, left), min(x1, left + wide)
                for group in range(groups):
                    tile = self._tile(region.level, group, row * index.across + column)
                    pixels[
                        ya - y0 : yb - y0,
                        xa - x0 : xb - x0,
                        group * samples : (group + 1) * samples,
                    ] = tile[ya - top : yb - top, xa - left : xb - left]
        return pixels

    def _tile(self, level: int, group: int, number: int) -> Pixels:
        """Give one tile, decoded; the caller must not write to it."""
        key = (level, group, number)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        tile = self._decoded(level, group, number)
        self._kept[key] = tile
        self._kept_bytes += tile.nbytes
        while self._kept_bytes > KEPT_BYTES:
            _, dropped = self._kept.popitem(last=False)
            self._kept_bytes -= dropped.nbytes
        return tile

    def _decoded(self, level: int, group: int, number: int) -> Pixels:
        index = self._tiles[level]
        decoder = index.decoder
        size, offset = int(index.counts[group, number]), int(index.offsets[group, number])
        if size == 0:
            is_colour = self.dtype == np.uint8 and self.channels > 1
            shape = (decoder.height_px, decoder.width_px, decoder.samples)
            return np.full(shape, _WHITE if is_colour else 0, self.dtype)
        try:
            data = os.pread(self._handle.get(), size, offset)
            if len(data) < size:
                raise ValueError(f"it has {len(data)} of {size} bytes")
            return decoder.decode(data)
        except (ValueError, RuntimeError, OSError) as error:
            row, column = divmod(number, index.across)
            where = f"level {level}, tile {row}, {column}"
            raise self._unreadable(where, error) from error

    def close(self) -> None:
        """Close the file and forget its tiles; a later read opens it again."""
        super().close()
        self._kept.clear()
        self._kept_bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": OrderedDict(), "_kept_bytes": 0}


def open_tiled_tiff(path: Path) -> TiledTiff:
    """Open a tiled TIFF."""
    layout = tiff_layout(path)
    if isinstance(layout, OtherKind):
        raise BadInput(
            f"the reader tifffile does not support {path} ({layout.why}): leave --grid reader out"
        )
    return TiledTiff(path, layout)
