"""The specimen on a made slide: islands of stained tissue on glass, drawn tile by tile."""

from __future__ import annotations

import math
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
OUTLINE_NODES = 192
"""Points along the longer side at which the outline of the tissue is known."""
COVERED_SHARE = 0.5
EDGE_SOFTNESS = 0.05
FAT_BELOW = -72
"""Architecture below which tissue gives way to the empty rooms of fat and vessels."""


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
        """Draw the textures and nuclei of one slide."""
        feature_nodes = TISSUE_FEATURE_UM / mpp / NODE_PX
        return cls(
            architecture=_texture(random, 601, feature_nodes, spread=48),
            fibres=_fibres(random, mpp),
            grain=_texture(random, 509, 0.6, spread=5),
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
    # The transform of a Gaussian of deviation s is exp(-2 (pi s f)^2).
    smooth = np.fft.irfft2(noise * np.exp(-2 * np.pi**2 * squared), shape)
    smooth -= smooth.mean()
    return np.asarray(smooth / smooth.std())


def _texture(random: np.random.Generator, side: int, sigma: float, spread: float) -> Texture:
    return _rounded(smooth_noise(random, (side, side), (sigma, sigma)) * spread)


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
    # By Beer and Lambert densities add up, and light falls exponentially with them.
    light = np.rint(GLASS * np.exp(-(eosin + haematoxylin)))
    return np.asarray(light.reshape(-1, 3), dtype=np.uint8)


class Specimen:
    """One slide's content, the same wherever and in whatever order it is looked at."""

    def __init__(self, shape_yx: tuple[int, int], mpp: float, seed: tuple[int, ...]) -> None:
        random = np.random.default_rng(seed)
        self._stains = Stains.of(random, mpp)
        self._shape_yx = shape_yx
        self._outline = _outline(random, shape_yx)
        self._salt = np.uint64(random.integers(2**63))

    def tile(self, y0: int, x0: int, side: int) -> NDArray[np.uint8]:
        """Draw a tile, RGB: its corner is a multiple of its side, and this one of `NODE_PX`."""
        stains = self._stains
        nodes = side // NODE_PX + 1
        node_y, node_x = y0 // NODE_PX + np.arange(nodes), x0 // NODE_PX + np.arange(nodes)
        fibres = _repeated(stains.fibres, y0, x0, side)
        coarse_kind = _at(stains.architecture, node_y, node_x).astype(np.int32)
        kind = _between_nodes(coarse_kind)
        inside = _between_nodes(self._inside(node_y, node_x))
        # The outline is frayed by the fibres that end there.
        covered = np.clip(inside + 2 * fibres, 0, 256)
        covered = np.minimum(covered, np.clip(8 * (kind - FAT_BELOW + fibres // 2), 0, 256))
        grain = _repeated(stains.grain, y0, x0, side)
        eosin = 6 + grain + (covered * (92 + fibres + kind // 4) >> 8)
        nuclei = self._nuclei(y0, x0, side)
        # Haematoxylin takes the place of eosin, and stains what is around it faintly.
        haematoxylin = (covered * (nuclei + 14) >> 8) + grain // 2
        eosin -= nuclei // 3
        index = (np.clip(eosin, 0, 255) << 8) + np.clip(haematoxylin, 0, 255)
        return np.asarray(stains.colours[index])

    def _inside(self, node_y: NDArray[np.intp], node_x: NDArray[np.intp]) -> NDArray[np.int32]:
        """How far within the tissue's outline nodes lie, 0 on glass and 256 well inside."""
        longest = max(self._shape_yx)
        at_y = np.clip(node_y * NODE_PX / longest, 0, 1) * (OUTLINE_NODES - 1)
        at_x = np.clip(node_x * NODE_PX / longest, 0, 1) * (OUTLINE_NODES - 1)
        height, width = self._outline.shape
        top = np.minimum(at_y.astype(int), height - 2)
        left = np.minimum(at_x.astype(int), width - 2)
        part_y = np.clip(at_y - top, 0, 1)[:, None]
        part_x = np.clip(at_x - left, 0, 1)[None, :]
        upper, lower = self._outline[top], self._outline[top + 1]
        above = upper[:, left] * (1 - part_x) + upper[:, left + 1] * part_x
        below = lower[:, left] * (1 - part_x) + lower[:, left + 1] * part_x
        height_over = above * (1 - part_y) + below * part_y
        inside = np.clip(256 * height_over / EDGE_SOFTNESS, -256, 512)
        return np.asarray(inside, dtype=np.int32)

    def _nuclei(self, y0: int, x0: int, side: int) -> NDArray[np.int32]:
        """Haematoxylin of nuclei: each square of a lattice has one, or none, by its place."""
        # Every row of squares is shifted by a length of its own, so that no columns are seen.
        stamps = self._stains.nuclei
        cell = stamps.shape[1]
        cells = side // cell + 2
        cell_y = y0 // cell + np.arange(cells)
        # No square lies in column -1: the shift of a row follows from none of its nuclei.
        of_row = _hashed(cell_y[:, None], np.array([-1]), self._salt)
        shift = (of_row % np.uint64(cell)).astype(np.intp)
        cell_x = (x0 + shift) // cell + np.arange(cells)
        number = _hashed(cell_y[:, None], cell_x, self._salt)
        kind = self._stains.architecture[
            (cell_y[:, None] * cell // NODE_PX) % self._stains.architecture.shape[0],
            (cell_x * cell // NODE_PX) % self._stains.architecture.shape[1],
        ]
        # Of 256 squares: 40 in stroma to nearly all in epithelium.
        wanted = np.clip(90 + 3 * kind.astype(np.int32), 40, 245)
        # Whether there is a nucleus depends on other bits than which one it is.
        chosen = np.where((number >> np.uint64(8)) % np.uint64(256) < wanted, number % NUCLEI, 0)
        drawn = stamps[chosen].transpose(0, 2, 1, 3).reshape(cells, cell, cells * cell)
        off_x = (x0 + shift[:, 0]) % cell
        rows = [row[:, off : off + side] for row, off in zip(drawn, off_x, strict=True)]
        off_y = y0 % cell
        return np.asarray(np.concatenate(rows)[off_y : off_y + side], dtype=np.int32)


def _outline(random: np.random.Generator, shape_yx: tuple[int, int]) -> NDArray[np.float64]:
    """Height over the outline of the tissue, which runs where it is 0, at nodes over the slide."""
    longest = max(shape_yx)
    height, width = (max(2, round(OUTLINE_NODES * side / longest)) for side in shape_yx)
    size = math.sqrt(height * width)
    broad = smooth_noise(random, (height, width), (size / 9, size / 9))
    fine = smooth_noise(random, (height, width), (size / 40, size / 40))
    y, x = np.linspace(-1, 1, height)[:, None], np.linspace(-1, 1, width)[None, :]
    to_edge = np.maximum(np.abs(y), np.abs(x))
    land = broad + 0.25 * fine - 4 * np.clip(to_edge - 0.7, 0, None)
    return np.asarray(land - np.quantile(land, 1 - COVERED_SHARE))


def _at(texture: Texture, y: NDArray[np.intp], x: NDArray[np.intp]) -> Texture:
    return np.asarray(texture[np.ix_(y % texture.shape[0], x % texture.shape[1])])


def _repeated(texture: Texture, y0: int, x0: int, side: int) -> NDArray[np.int32]:
    return _at(texture, y0 + np.arange(side), x0 + np.arange(side)).astype(np.int32)


def _between_nodes(coarse: NDArray[np.int32]) -> NDArray[np.int32]:
    """Straight lines between nodes, in whole numbers: equal on every processor."""
    part = np.arange(NODE_PX, dtype=np.int32)
    columns = coarse.shape[1]
    tall = coarse[:-1, None, :] * (NODE_PX - part)[:, None] + coarse[1:, None, :] * part[:, None]
    tall = tall.reshape(-1, columns)
    wide = tall[:, :-1, None] * (NODE_PX - part) + tall[:, 1:, None] * part
    return np.asarray(wide.reshape(len(tall), -1) // NODE_PX**2)


def _hashed(y: NDArray[np.intp], x: NDArray[np.intp], salt: np.uint64) -> NDArray[np.uint64]:
    """A number for each place of a lattice that looks random, but follows from the place."""
    mixed = y.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = mixed ^ x.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F) ^ salt
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (29, 0xC4CEB9FE1A85EC53)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    return mixed ^ mixed >> np.uint64(32)
