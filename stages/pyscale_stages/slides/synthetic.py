"""Synthetic slides: tissue-like, pyramidal, of any size, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pyscale_stages.atomic import Kind, make_whole
from pyscale_stages.contract import Record

PARAMS_FILE = "slides.json"
KIND = Kind("synthetic slides", "holds no synthetic slides", PARAMS_FILE)
TILE_PX = 256
QUALITY = 90
LEVEL_STEP = 4
LARGEST_THUMBNAIL_PX = 1024
CLASSIC_TIFF_BYTES = 2**32

Pixels = NDArray[np.uint8]
"""RGB: shape (height, width, 3)."""


class SlidesParams(Record):
    """Parameters of synthetic slides; the same parameters give the same bytes."""

    generator: Literal[2] = Field(
        2, description="Version of the generator: another version draws other slides"
    )
    slides: int = Field(8, ge=1, le=100_000, description="Number of slides")
    height_px: int = Field(4096, ge=512, le=200_000, description="Height of a slide")
    width_px: int = Field(4096, ge=512, le=200_000, description="Width of a slide")
    mpp: float = Field(0.5, ge=0.1, le=2, description="Micrometres a pixel at full resolution")
    seed: int = Field(0, ge=0, lt=2**32, description="Seed of everything random")

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes of all slides at full resolution before compression."""
        return 3 * self.slides * self.height_px * self.width_px


def slide_name(number: int) -> str:
    """File name of a slide by its number from 0."""
    return f"slide_{number:03d}.svs"


def write_slides(
    folder: Path, params: SlidesParams, advance: Callable[[int], None] | None = None
) -> Path:
    """Write slides as pyramidal TIFF in Aperio's layout; the folder appears whole or not at all."""

    # The same parameters give the same bytes, with the same libraries and kind of processor.
    def write(partial: Path) -> None:
        for number in range(params.slides):
            write_slide(partial / slide_name(number), params, number, advance)

    return make_whole(folder, params, KIND, write)


def write_slide(
    path: Path, params: SlidesParams, number: int = 0, advance: Callable[[int], None] | None = None
) -> None:
    """Write one of the slides, by its number from 0: JPEG tiles at three resolutions."""
    from tifffile import TiffWriter

    height, width = params.height_px, params.width_px
    # How well JPEG compresses is not known before: what could be too large is a BigTIFF.
    is_big = 2 * 3 * height * width > CLASSIC_TIFF_BYTES
    # The second level is made while the first is drawn, and waits on the disk.
    with TemporaryFile(dir=path.parent) as file, TiffWriter(path, bigtiff=is_big) as tiff:
        second = np.memmap(
            file, np.uint8, "w+", shape=(height // LEVEL_STEP, width // LEVEL_STEP, 3)
        )

        def write_level(pixels: Pixels | Iterator[Pixels], shape: tuple[int, ...]) -> None:
            tiff.write(
                pixels,
                shape=(*shape[:2], 3),
                dtype=np.uint8,
                tile=(TILE_PX, TILE_PX),
                photometric="rgb",
                compression="jpeg",
                compressionargs={"level": QUALITY},
                # Colour is stored at half the resolution of brightness, as scanners do.
                subsampling=(2, 2),
                description=_description(params, shape),
                metadata=None,
                software=False,
            )

        write_level(_tiles(params, number, second, advance), (height, width))
        third = _reduced(second, LEVEL_STEP)
        thumbnail = _reduced(third, -(-max(third.shape) // LARGEST_THUMBNAIL_PX))
        tiff.write(thumbnail, photometric="rgb", compression="zlib", metadata=None, software=False)
        for level in (second, third):
            write_level(level, level.shape)


def _tiles(
    params: SlidesParams, number: int, second: Pixels, advance: Callable[[int], None] | None
) -> Iterator[Pixels]:
    """Draw the tiles of the finest level, and fill the second with their means."""
    from pyscale_stages.slides.synthspecimen import Specimen

    height, width = params.height_px, params.width_px
    specimen = Specimen((height, width), params.mpp, (params.seed, number))
    for y0 in range(0, height, TILE_PX):
        tiles = [specimen.tile(y0, x0, TILE_PX) for x0 in range(0, width, TILE_PX)]
        band = np.concatenate(tiles, axis=1)[: height - y0, :width]
        # Before the tiles are passed on: nobody asks for more after the last.
        means = _reduced(band, LEVEL_STEP)
        second[y0 // LEVEL_STEP :][: len(means)] = means
        if advance is not None:
            advance(band.nbytes)
        yield from tiles


def _description(params: SlidesParams, shape: tuple[int, ...]) -> str:
    """What readers of Aperio's files look for: the first word, the magnification and MPP."""
    size = f"{params.width_px}x{params.height_px}"
    own = f"{shape[1]}x{shape[0]}"
    smaller = "" if own == size else f" -> {own}"
    return (
        f"Aperio layout, synthetic slide\r\n{size} [0,0 {size}] "
        f"({TILE_PX}x{TILE_PX}){smaller} JPEG/YCC Q={QUALITY}"
        f"|AppMag = {10 / params.mpp:g}|MPP = {params.mpp:g}"
    )


def _reduced(image: Pixels, step: int) -> Pixels:
    """Mean of each square of `step` pixels; what is short of a square is left out."""
    height, width = (side // step for side in image.shape[:2])
    squares = image[: height * step, : width * step].reshape(height, step, width, step, 3)
    # The sum of 16 x 16 values still fits, and no step here is larger.
    sums = squares.sum(axis=3, dtype=np.uint16).sum(axis=1, dtype=np.uint16)
    # Half of the divisor is added, so that the quotient is rounded.
    return np.asarray(((sums + step**2 // 2) // step**2).astype(np.uint8))
