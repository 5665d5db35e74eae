"""Made-up particles: sums of Gaussian blobs, whose maps and projections are known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import distance_transform_edt
from scipy.spatial.transform import Rotation

from pyscale_stages.kernels.params import Symmetry

Array = npt.NDArray[np.float32]

N_BLOBS = 40
_RADIUS_OF_BOX = 0.25
_SIGMA_PX = 1.3
_NOISE_OF_SIGNAL = 2.0
"""Deviation of a half map's noise, in those of the signal: the correlation falls to nothing
between the middle of the box and its finest shell."""


@dataclass(frozen=True)
class Blobs:
    """Equal Gaussian blobs around the middle of a box."""

    centres_px: npt.NDArray[np.float64]
    """Positions from the middle, as (blob, xyz)."""
    sigma_px: float = _SIGMA_PX

    def volume(self, box_px: int) -> Array:
        """Density as (z, y, x), its middle at voxel `box_px // 2`."""
        along_x, along_y, along_z = (self._profile(axis, box_px) for axis in range(3))
        planes = np.einsum("by,bx->byx", along_y, along_x).reshape(len(along_x), -1)
        density: Array = (along_z.T @ planes).reshape((box_px,) * 3).astype(np.float32)
        return density

    def projection(self, box_px: int) -> Array:
        """Sum of the density along z as (y, x), without sampling it."""
        along_x, along_y = (self._profile(axis, box_px) for axis in range(2))
        height = self.sigma_px * np.sqrt(2 * np.pi)
        sums: Array = (height * along_y.T @ along_x).astype(np.float32)
        return sums

    def rotated(self, matrix: npt.NDArray[np.float64]) -> Blobs:
        """The same, turned by a rotation matrix (xyz)."""
        return Blobs(self.centres_px @ matrix.T, self.sigma_px)

    def shifted(self, x_px: float, y_px: float) -> Blobs:
        """The same, moved in the plane of projection."""
        return Blobs(self.centres_px + np.array([x_px, y_px, 0.0]), self.sigma_px)

    def _profile(self, axis: int, box_px: int) -> npt.NDArray[np.float64]:
        """Gaussian of each blob along one axis, as (blob, position)."""
        positions = np.arange(box_px) - box_px // 2
        offsets = positions[None, :] - self.centres_px[:, axis, None]
        profile: npt.NDArray[np.float64] = np.exp(-0.5 * (offsets / self.sigma_px) ** 2)
        return profile


def random_blobs(rng: np.random.Generator, box_px: int, symmetry: Symmetry = "C1") -> Blobs:
    """Blobs in a ball that fills half the box, of a point group."""
    matrices = symmetry_matrices(symmetry)
    n = max(3, N_BLOBS // len(matrices))
    directions = rng.standard_normal((n, 3))
    radii = _RADIUS_OF_BOX * box_px * rng.random(n) ** (1 / 3)
    centres = directions / np.linalg.norm(directions, axis=1, keepdims=True) * radii[:, None]
    return Blobs(np.concatenate([centres @ matrix.T for matrix in matrices]))


def symmetry_matrices(group: Symmetry) -> npt.NDArray[np.float64]:
    """Rotation matrices of a point group, with its main axis along z."""
    # The library takes any such name; its annotations know only the letters.
    rotations = Rotation.create_group(group, axis="Z")  # type: ignore[arg-type]
    return rotations.as_matrix()


@dataclass(frozen=True)
class HalfMaps:
    """Two maps of one signal with noise of their own."""

    signal: Array
    halves: tuple[Array, Array]
    noise_std: float


@lru_cache(maxsize=1)
def half_maps(box_px: int, seed: int) -> HalfMaps:
    """Half maps as (z, y, x); the tests that use them share them."""
    rng = np.random.default_rng([seed, box_px])
    signal = random_blobs(rng, box_px).volume(box_px)
    noise_std = _NOISE_OF_SIGNAL * float(signal.std())
    shape = signal.shape
    first, second = (
        signal + np.float32(noise_std) * rng.standard_normal(shape, dtype=np.float32) for _ in "ab"
    )
    return HalfMaps(signal, (first, second), noise_std)


def soft_mask(distance_px: npt.NDArray[Any], edge_px: float) -> Array:
    """1 where the distance is none or negative, falling to 0 over `edge_px` as a cosine."""
    mask: Array = (0.5 + 0.5 * np.cos(np.pi * np.clip(distance_px / edge_px, 0, 1))).astype(
        np.float32
    )
    return mask


def radius_px(box_px: int, n_axes: int) -> npt.NDArray[np.float64]:
    """Distance from the middle of a box or image."""
    squares = (np.arange(box_px) - box_px // 2) ** 2.0
    total = squares
    for _ in range(n_axes - 1):
        total = total[..., None] + squares
    radius: npt.NDArray[np.float64] = np.sqrt(total)
    return radius


def spherical_mask(box_px: int) -> Array:
    """A ball that nearly fills the box."""
    return soft_mask(radius_px(box_px, 3) - 0.42 * box_px, 0.06 * box_px)


def shape_mask(signal: Array, reach_px: float, edge_px: float) -> Array:
    """The signal's own shape, made larger by `reach_px`, with a soft edge outside it."""
    outside_px = distance_transform_edt(signal < 0.1 * signal.max())
    return soft_mask(outside_px - reach_px, edge_px)
