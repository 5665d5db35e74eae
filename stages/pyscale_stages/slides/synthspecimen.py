"""The specimen on a made slide: islands of stained tissue on glass, drawn tile by tile."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pyscale_stages.slides.synthstains import NODE_PX, NUCLEI, Stains, Texture, smooth_noise

OUTLINE_NODES = 192
"""Points along the longer side at which the outline of the tissue is known."""
COVERED_SHARE = 0.5
EDGE_SOFTNESS = 0.05
FAT_BELOW = -72
"""Architecture below which tissue gives way to the empty rooms of fat and vessels."""


class Specimen:
    """One slide's content, the same wherever and in whatever order it is looked at.

    `shape_yx`: height and width of the slide in pixels. `mpp`: micrometres a pixel. `seed`:
    everything random follows from it.
    """

    def __init__(self, shape_yx: tuple[int, int], mpp: float, seed: tuple[int, ...]) -> None:
        random = np.random.default_rng(seed)
        self._stains = Stains.of(random, mpp)
        self._shape_yx = shape_yx
        self._outline = _outline(random, shape_yx)
        self._salt = np.uint64(random.integers(2**63))

    def tile(self, y0: int, x0: int, side: int) -> NDArray[np.uint8]:
        """Draw a square tile.

        `y0`, `x0`: its corner in pixels, a multiple of its side. It may reach beyond the slide.
        `side`: its side in pixels, a multiple of `NODE_PX`. Returns: RGB, (side, side, 3), uint8.
        """
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
        """Haematoxylin of nuclei: each square of a lattice has one, or none, by its place.

        Every row of squares is shifted by a length of its own, so that no columns are seen.
        """
        stamps = self._stains.nuclei
        cell = stamps.shape[1]
        cells = side // cell + 2
        cell_y = y0 // cell + np.arange(cells)
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
