"""A pyramidal slide file, written row by row of tiles: memory grows with its width alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from pyscale_stages.slides.synthspecimen import Specimen

LEVEL_STEP = 4
LARGEST_THUMBNAIL_PX = 1024
Band = NDArray[np.uint8]
"""Rows of pixels over the whole width, RGB."""

LEVELS = 3
CLASSIC_TIFF_BYTES = 2**32
SUBSAMPLING = (2, 2)
"""Colour is stored at half the resolution of brightness, as scanners do."""


def write_pyramid(
    path: Path,
    specimen: Specimen,
    shape_yx: tuple[int, int],
    *,
    tile_px: int,
    mpp: float,
    quality: int,
    advance: Callable[[int], None],
) -> None:
    """Write a slide as an Aperio scanner lays it out: JPEG tiles at three resolutions."""
    # Lower ones and a thumbnail are made while the full one is drawn, and wait on the disk.
    from tifffile import TiffWriter

    height, width = shape_yx
    shapes = [(height // step, width // step) for step in _steps()]
    with TemporaryFile(dir=path.parent) as second, TemporaryFile(dir=path.parent) as third:
        spools = [TileSpool(file, tile_px, quality) for file in (second, third)]
        thumbnail = Thumbnail(shapes[-1])

        def reduce(band: Band) -> None:
            # A tile is as many rows as both steps divide: only the last band leaves any over.
            for spool in spools:
                band = _reduced(band, LEVEL_STEP)
                spool.take(band)
            thumbnail.take(band)

        def full_resolution() -> Iterator[bytes]:
            for y0 in range(0, height, tile_px):
                tiles = [specimen.tile(y0, x0, tile_px) for x0 in range(0, width, tile_px)]
                band = np.concatenate(tiles, axis=1)[: height - y0, :width]
                # Before the tiles are passed on: nobody asks for more after the last.
                reduce(band)
                advance(band.nbytes)
                for tile in tiles:
                    yield encoded(tile, quality)

        # How well JPEG compresses is not known before: what could be too large is a BigTIFF.
        with TiffWriter(path, bigtiff=2 * 3 * height * width > CLASSIC_TIFF_BYTES) as tiff:

            def write_level(tiles: Iterator[bytes], level: int) -> None:
                tiff.write(
                    tiles,
                    shape=(*shapes[level], 3),
                    dtype=np.uint8,
                    tile=(tile_px, tile_px),
                    photometric="ycbcr",
                    compression="jpeg",
                    compressionargs={"level": quality},
                    subsampling=SUBSAMPLING,
                    description=_description(shape_yx, shapes[level], tile_px, mpp, quality),
                    resolution=(1e4 / mpp / LEVEL_STEP**level,) * 2,
                    resolutionunit="centimeter",
                    metadata=None,
                    software=False,
                )

            write_level(full_resolution(), 0)
            tiff.write(
                thumbnail.image(),
                photometric="rgb",
                compression="zlib",
                metadata=None,
                software=False,
            )
            for level, spool in enumerate(spools, start=1):
                write_level(spool.tiles(), level)


def _steps() -> list[int]:
    return [LEVEL_STEP**level for level in range(LEVELS)]


def _description(
    full: tuple[int, int], own: tuple[int, int], tile_px: int, mpp: float, quality: int
) -> str:
    """What readers of Aperio's files look for: the first word, the magnification and MPP."""
    smaller = "" if own == full else f" -> {own[1]}x{own[0]}"
    return (
        f"Aperio layout, synthetic slide\r\n{full[1]}x{full[0]} [0,0 {full[1]}x{full[0]}] "
        f"({tile_px}x{tile_px}){smaller} JPEG/YCC Q={quality}"
        f"|AppMag = {10 / mpp:g}|MPP = {mpp:g}"
    )


def encoded(tile: Band, quality: int) -> bytes:
    """Compress a tile into a JPEG stream that needs no tables beside it."""
    import imagecodecs

    return bytes(
        imagecodecs.jpeg8_encode(
            tile, level=quality, colorspace="RGB", outcolorspace="YCBCR", subsampling="420"
        )
    )


class _InRows(ABC):
    """Takes rows as they come, and uses so many of them at once."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._waiting: Band | None = None

    def take(self, band: Band) -> None:
        """Take the next rows of the level."""
        rows = band if self._waiting is None else np.concatenate([self._waiting, band])
        used = len(rows) // self._at_once * self._at_once
        for top in range(0, used, self._at_once):
            self._add(rows[top : top + self._at_once])
        # A copy, or the rows that are gone would stay in memory with it.
        self._waiting = rows[used:].copy()

    @abstractmethod
    def _add(self, rows: Band) -> None: ...


class TileSpool(_InRows):
    """The compressed tiles of a level, on the disk until their turn to be written."""

    def __init__(self, file: IO[bytes], tile_px: int, quality: int) -> None:
        super().__init__(tile_px)
        self._file = file
        self._quality = quality
        self._sizes: list[int] = []

    def tiles(self) -> Iterator[bytes]:
        """Give back the compressed tiles, in the order in which they came, once all rows did."""
        if self._waiting is not None and len(self._waiting):
            self._add(self._waiting)
        self._file.seek(0)
        for size in self._sizes:
            yield self._file.read(size)

    def _add(self, rows: Band) -> None:
        """Add a row of tiles; what is short of whole tiles is filled by repeating its edge."""
        side = self._at_once
        beyond = (-rows.shape[0] % side, -rows.shape[1] % side)
        whole = np.pad(rows, ((0, beyond[0]), (0, beyond[1]), (0, 0)), mode="edge")
        for x0 in range(0, whole.shape[1], side):
            tile = encoded(np.ascontiguousarray(whole[:, x0 : x0 + side]), self._quality)
            self._sizes.append(self._file.write(tile))


class Thumbnail(_InRows):
    """The whole slide in one small image; rows short of one of it are left out."""

    def __init__(self, shape_yx: tuple[int, int]) -> None:
        super().__init__(-(-max(shape_yx) // LARGEST_THUMBNAIL_PX))
        self._rows: list[Band] = []

    def _add(self, rows: Band) -> None:
        self._rows.append(_reduced(rows, self._at_once))

    def image(self) -> Band:
        """Give the thumbnail, once every row was taken."""
        return np.concatenate(self._rows)


def _reduced(image: Band, step: int) -> Band:
    """Mean of each square of `step` pixels; what is short of a square is left out."""
    height, width = (side // step for side in image.shape[:2])
    squares = image[: height * step, : width * step].reshape(height, step, width, step, 3)
    # The sum of 16 x 16 values still fits, and no step here is larger.
    sums = squares.sum(axis=3, dtype=np.uint16).sum(axis=1, dtype=np.uint16)
    # Half of the divisor is added, so that the quotient is rounded.
    return np.asarray(((sums + step**2 // 2) // step**2).astype(np.uint8))
