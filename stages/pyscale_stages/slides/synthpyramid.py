"""A pyramidal slide file, written row by row of tiles: memory grows with its width alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from pyscale_stages.slides.synthlevels import (
    LEVEL_STEP,
    SmallerLevel,
    Thumbnail,
    TileSpool,
    encoded,
)
from pyscale_stages.slides.synthspecimen import Specimen

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
    """Write a slide as an Aperio scanner lays it out: JPEG tiles at three resolutions.

    The full resolution comes first, then a thumbnail in strips, then a quarter and a sixteenth
    of the resolution. These are made while the full one is drawn, and wait on the disk.

    `shape_yx`: height and width in pixels. `mpp`: micrometres a pixel. `advance`: told the
    uncompressed bytes of the full resolution as they are drawn.
    """
    from tifffile import TiffWriter

    height, width = shape_yx
    shapes = [(height // step, width // step) for step in _steps()]
    with TemporaryFile(dir=path.parent) as second, TemporaryFile(dir=path.parent) as third:
        spools = [TileSpool(file, tile_px, quality) for file in (second, third)]
        thumbnail = Thumbnail(shapes[-1])
        smaller = SmallerLevel(spools[0], SmallerLevel(spools[1], thumbnail))

        def full_resolution() -> Iterator[bytes]:
            for y0 in range(0, height, tile_px):
                tiles = [specimen.tile(y0, x0, tile_px) for x0 in range(0, width, tile_px)]
                band = np.concatenate(tiles, axis=1)[: height - y0, :width]
                # Before the tiles are passed on: nobody asks for more after the last.
                smaller.take(band)
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
            smaller.end()
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
