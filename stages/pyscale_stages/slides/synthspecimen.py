"""The specimen on a made slide: islands of stained tissue on glass, drawn tile by tile."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Texture = NDArray[np.float32]

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
