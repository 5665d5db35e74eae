"""What a made slide is drawn from: textures, nuclei, and the colours of the two stains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Texture = NDArray[np.int16]

NODE_PX = 16
"""Distance of the points at which what changes slowly over a slide is known."""
TISSUE_FEATURE_UM = 120.0
FIBRE_LENGTH_UM = 18.0
FIBRE_WIDTH_UM = 2.5
NUCLEUS_CELL_UM = 10.0
NUCLEI = 256
GLASS = 243.0
EOSIN_DENSITY = np.array([0.07, 0.78, 0.32])
"""Optical density of eosin at full strength, in red, green and blue."""
HAEMATOXYLIN_DENSITY = np.array([1.25, 1.45, 0.65])


@dataclass(frozen=True)
class Stains:
    """All that the tiles of one slide are put together from.

    The textures go on without a seam where they end. Their sides have no common divisor worth
    the name, so that what they make together repeats only after hundreds of thousands of pixels.
    """

    architecture: Texture
    """Kind of tissue at nodes `NODE_PX` apart, about -128 to 128: fat, stroma, epithelium."""
    fibres: Texture
    grain: Texture
    nuclei: NDArray[np.uint8]
    """Haematoxylin of each of `NUCLEI` nuclei in a square of its own; the first is empty."""
    colours: NDArray[np.uint8]
    """RGB at index 256 x eosin + haematoxylin."""

    @classmethod
    def of(cls, random: np.random.Generator, mpp: float) -> Stains:
        """Draw the textures and nuclei of one slide.

        `mpp`: micrometres a pixel: what has a size in nature keeps it.
        """
        feature_nodes = TISSUE_FEATURE_UM / mpp / NODE_PX
        return cls(
            architecture=_texture(random, 601, (feature_nodes, feature_nodes), spread=48),
            fibres=_fibres(random, mpp),
            grain=_texture(random, 509, (0.6, 0.6), spread=5),
            nuclei=_nuclei(random, max(6, round(NUCLEUS_CELL_UM / mpp))),
            colours=_colours(),
        )


def smooth_noise(
    random: np.random.Generator, shape: tuple[int, int], sigma: tuple[float, float]
) -> NDArray[np.float64]:
    """Noise of mean 0 and deviation 1, blurred by `sigma` along y and x, that wraps around."""
    noise = np.fft.rfft2(random.standard_normal(shape))
    frequency_y = np.fft.fftfreq(shape[0])[:, None]
    frequency_x = np.fft.rfftfreq(shape[1])[None, :]
    squared = (frequency_y * sigma[0]) ** 2 + (frequency_x * sigma[1]) ** 2
    smooth = np.fft.irfft2(noise * np.exp(-2 * np.pi**2 * squared), shape)
    smooth -= smooth.mean()
    return np.asarray(smooth / smooth.std())


def _texture(
    random: np.random.Generator, side: int, sigma: tuple[float, float], spread: float
) -> Texture:
    noise = smooth_noise(random, (side, side), sigma)
    return _rounded(noise * spread)


def _rounded(values: NDArray[np.float64]) -> Texture:
    return np.asarray(np.rint(values), dtype=np.int16)


def _fibres(random: np.random.Generator, mpp: float) -> Texture:
    """Bent strands: waves that are long one way and short the other, of two directions."""
    side = 768
    long, short = FIBRE_LENGTH_UM / mpp / 2, FIBRE_WIDTH_UM / mpp / 2
    lying = smooth_noise(random, (side, side), (short, long))
    standing = smooth_noise(random, (side, side), (long, short))
    coarse = smooth_noise(random, (side, side), (long, long))
    at = np.arange(side)
    # Whole waves along a side: the texture still goes on where it ends.
    bend = np.rint(2 * long * np.sin(2 * np.pi * 3 * at / side)).astype(int)
    lying = lying[(at[:, None] + bend[None, :]) % side, at[None, :]]
    standing = standing[at[:, None], (at[None, :] + bend[:, None]) % side]
    share = np.clip(0.5 + coarse, 0, 1)
    return _rounded(26 * (share * lying + (1 - share) * standing) + 12 * coarse)


def _nuclei(random: np.random.Generator, side: int) -> NDArray[np.uint8]:
    """Nuclei of many sizes, shapes and chromatin, none of which leaves its square."""
    y, x = np.mgrid[:side, :side] + 0.5
    drawn = np.zeros((NUCLEI, side, side))
    for nucleus in drawn[1:]:
        long = side * random.uniform(0.24, 0.46)
        short = long * random.uniform(0.55, 1.0)
        room = side / 2 - long
        centre_y, centre_x = side / 2 + random.uniform(-room, room, 2)
        angle = random.uniform(0, np.pi)
        along = (x - centre_x) * np.cos(angle) + (y - centre_y) * np.sin(angle)
        across = (y - centre_y) * np.cos(angle) - (x - centre_x) * np.sin(angle)
        radius = np.hypot(along / long, across / short)
        inside = np.clip((1 - radius) * short / 1.2, 0, 1)
        chromatin = smooth_noise(random, (side, side), (side / 16, side / 16))
        rim = np.clip(1 - np.abs(radius - 0.85) * 4, 0, 1)
        nucleus[:] = inside * (random.uniform(85, 165) + 26 * chromatin + 30 * rim)
    return np.clip(np.rint(drawn), 0, 215).astype(np.uint8)


def _colours() -> NDArray[np.uint8]:
    strength = np.arange(256)[:, None] / 255
    eosin = strength[:, None] * EOSIN_DENSITY
    haematoxylin = strength[None, :] * HAEMATOXYLIN_DENSITY
    light = np.rint(GLASS * np.exp(-(eosin + haematoxylin)))
    return np.asarray(light.reshape(-1, 3), dtype=np.uint8)
