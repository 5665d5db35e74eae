"""The lower resolutions of a made slide, taken from the full one row by row as it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

LEVEL_STEP = 4
LARGEST_THUMBNAIL_PX = 1024

Band = NDArray[np.uint8]
"""Rows of pixels over the whole width, RGB."""


def encoded(tile: Band, quality: int) -> bytes:
    """Compress a tile into a JPEG stream that needs no tables beside it."""
    import imagecodecs

    return bytes(
        imagecodecs.jpeg8_encode(
            tile, level=quality, colorspace="RGB", outcolorspace="YCBCR", subsampling="420"
        )
    )


class TileSpool:
    """The compressed tiles of a level, on the disk until their turn to be written."""

    def __init__(self, file: IO[bytes], tile_px: int, quality: int) -> None:
        self._file = file
        self._tile_px = tile_px
        self._quality = quality
        self._sizes: list[int] = []

    @property
    def rows(self) -> int:
        """Rows of pixels that a row of tiles holds."""
        return self._tile_px

    def add(self, band: Band) -> None:
        """Add a row of tiles; what is short of whole tiles is filled by repeating its edge."""
        side = self._tile_px
        beyond = (-band.shape[0] % side, -band.shape[1] % side)
        whole = np.pad(band, ((0, beyond[0]), (0, beyond[1]), (0, 0)), mode="edge")
        for x0 in range(0, whole.shape[1], side):
            tile = encoded(np.ascontiguousarray(whole[:, x0 : x0 + side]), self._quality)
            self._sizes.append(self._file.write(tile))

    def tiles(self) -> Iterator[bytes]:
        """Give back the compressed tiles, in the order in which they came."""
        self._file.seek(0)
        for size in self._sizes:
            yield self._file.read(size)


class Thumbnail:
    """The whole slide in one small image."""

    def __init__(self, shape_yx: tuple[int, int]) -> None:
        self._step = -(-max(shape_yx) // LARGEST_THUMBNAIL_PX)
        self._waiting = _Waiting()
        self._rows: list[Band] = []

    def take(self, band: Band) -> None:
        """Take the next rows of the coarsest level."""
        self._waiting.add(band)
        while (rows := self._waiting.taken(self._step)) is not None:
            self._rows.append(_reduced(rows, self._step))

    def end(self) -> None:
        """Leave out the rows that are short of one of the thumbnail."""

    def image(self) -> Band:
        """Give the thumbnail, once every row was taken."""
        return np.concatenate(self._rows)


class SmallerLevel:
    """A level of lower resolution, made from the rows of the one above as they come."""

    def __init__(self, spool: TileSpool, below: SmallerLevel | Thumbnail) -> None:
        self._spool = spool
        self._below = below
        self._above = _Waiting()
        self._own = _Waiting()

    def take(self, band: Band) -> None:
        """Take the next rows of the level above, which is `LEVEL_STEP` times as fine."""
        self._above.add(band)
        ready = self._above.height // LEVEL_STEP * LEVEL_STEP
        rows = self._above.taken(ready) if ready else None
        if rows is None:
            return
        small = _reduced(rows, LEVEL_STEP)
        self._below.take(small)
        self._own.add(small)
        while (whole := self._own.taken(self._spool.rows)) is not None:
            self._spool.add(whole)

    def end(self) -> None:
        """Write the last rows, which are short of whole tiles."""
        rest = self._own.taken(self._own.height) if self._own.height else None
        if rest is not None:
            self._spool.add(rest)
        self._below.end()


class _Waiting:
    """Rows that have come and are not yet taken."""

    def __init__(self) -> None:
        self._bands: list[Band] = []
        self.height = 0

    def add(self, band: Band) -> None:
        self._bands.append(band)
        self.height += len(band)

    def taken(self, rows: int) -> Band | None:
        """The next rows, or None where there are fewer."""
        if self.height < rows:
            return None
        joined = np.concatenate(self._bands)
        # A copy, or the rows that are gone would stay in memory with it.
        self._bands = [joined[rows:].copy()]
        self.height -= rows
        return joined[:rows]


def _reduced(image: Band, step: int) -> Band:
    """Mean of each square of `step` pixels; what is short of a square is left out."""
    height, width = (side // step for side in image.shape[:2])
    squares = image[: height * step, : width * step].reshape(height, step, width, step, 3)
    # The sum of 16 x 16 values still fits, and no step here is larger.
    sums = squares.sum(axis=3, dtype=np.uint16).sum(axis=1, dtype=np.uint16)
    mean: Band = ((sums + step**2 // 2) // step**2).astype(np.uint8)
    return mean
