"""Synthetic slides: tissue-like, pyramidal, of any size, the same for the same seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.synth.atomic_folder import Kind, make_whole

PARAMS_FILE = "slides.json"
KIND = Kind("synthetic slides", PARAMS_FILE)
TILE_PX = 256
QUALITY = 90
LEVEL_STEP = 4
LARGEST_THUMBNAIL_PX = 1024
CLASSIC_TIFF_BYTES = 2**32
FIBRE_UM = (1.2, 9.0)
NUCLEUS_UM = 2.2
GLASS = 243.0
EOSIN_DENSITY = np.array([0.07, 0.78, 0.32], np.float32)
"""Optical density of eosin at full strength, in red, green and blue."""
HAEMATOXYLIN_DENSITY = np.array([1.25, 1.45, 0.65], np.float32)
OUTLINE_NODES = 192
"""Points along the longer side at which the outline of the tissue is known."""
COVERED_SHARE = 0.5
EDGE_SOFTNESS = 0.05

Texture = NDArray[np.float32]
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


class Specimen:
    """One slide's content, the same wherever and in whatever order it is looked at.

    The textures go on without a seam where they end. Their sides have no common divisor, so that
    what they make together repeats only after hundreds of thousands of pixels.
    """

    def __init__(self, shape_yx: tuple[int, int], mpp: float, seed: tuple[int, ...]) -> None:
        random = np.random.default_rng(seed)
        self._fibres = smooth_noise(random, (769, 769), (FIBRE_UM[0] / mpp, FIBRE_UM[1] / mpp))
        self._nuclei = smooth_noise(random, (601, 601), (NUCLEUS_UM / mpp,) * 2)
        self._grain = smooth_noise(random, (509, 509), (0.6, 0.6))
        self._outline = _outline(random, shape_yx)
        self._px_per_node = max(shape_yx) / (OUTLINE_NODES - 1)

    def tile(self, y0: int, x0: int, side: int) -> NDArray[np.uint8]:
        """Draw a tile, RGB."""
        y, x = y0 + np.arange(side), x0 + np.arange(side)
        fibres, grain = _repeated(self._fibres, y, x), _repeated(self._grain, y, x)
        # The outline is frayed by the fibres that end there.
        covered = np.clip(self._inside(y, x) / EDGE_SOFTNESS + fibres / 2, 0, 1)
        nuclei = covered * np.clip(3 * _repeated(self._nuclei, y, x) - 3, 0, 1)
        # Haematoxylin takes the place of eosin, and stains what is around it faintly.
        eosin = 0.024 + 0.02 * grain + covered * (0.36 + 0.11 * fibres) - 0.2 * nuclei
        haematoxylin = 0.01 * grain + 0.055 * covered + 0.5 * nuclei
        # By Beer and Lambert densities add up, and light falls exponentially with them.
        density = (
            np.clip(eosin, 0, 1)[..., None] * EOSIN_DENSITY
            + np.clip(haematoxylin, 0, 1)[..., None] * HAEMATOXYLIN_DENSITY
        )
        return np.asarray(np.rint(GLASS * np.exp(-density)), np.uint8)

    def _inside(self, y: NDArray[np.intp], x: NDArray[np.intp]) -> Texture:
        """Height over the outline, by straight lines between its nodes."""
        from scipy.ndimage import map_coordinates

        at = np.meshgrid(y / self._px_per_node, x / self._px_per_node, indexing="ij")
        return np.asarray(map_coordinates(self._outline, at, order=1, mode="nearest"))


def smooth_noise(
    random: np.random.Generator, shape: tuple[int, int], sigma: tuple[float, float]
) -> Texture:
    """Noise of mean 0 and deviation 1, blurred by `sigma` along y and x, that wraps around."""
    noise = np.fft.rfft2(random.standard_normal(shape))
    frequency_y = np.fft.fftfreq(shape[0])[:, None]
    frequency_x = np.fft.rfftfreq(shape[1])[None, :]
    squared = (frequency_y * sigma[0]) ** 2 + (frequency_x * sigma[1]) ** 2
    # The transform of a Gaussian of deviation s is exp(-2 (pi s f)^2).
    smooth = np.fft.irfft2(noise * np.exp(-2 * np.pi**2 * squared), shape)
    smooth -= smooth.mean()
    return np.asarray(smooth / smooth.std(), np.float32)


def _outline(random: np.random.Generator, shape_yx: tuple[int, int]) -> Texture:
    """Height over the outline of the tissue, which runs where it is 0, at nodes over the slide."""
    longest = max(shape_yx)
    height, width = (max(2, round(OUTLINE_NODES * side / longest)) for side in shape_yx)
    size = math.sqrt(height * width)
    broad = smooth_noise(random, (height, width), (size / 9, size / 9))
    fine = smooth_noise(random, (height, width), (size / 40, size / 40))
    y, x = np.linspace(-1, 1, height)[:, None], np.linspace(-1, 1, width)[None, :]
    to_edge = np.maximum(np.abs(y), np.abs(x))
    land = broad + 0.25 * fine - 4 * np.clip(to_edge - 0.7, 0, None)
    return np.asarray(land - np.quantile(land, 1 - COVERED_SHARE), np.float32)


def _repeated(texture: Texture, y: NDArray[np.intp], x: NDArray[np.intp]) -> Texture:
    return np.asarray(texture[np.ix_(y % texture.shape[0], x % texture.shape[1])])
