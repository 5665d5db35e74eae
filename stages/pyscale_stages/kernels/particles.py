"""Made-up particles, whose maps, projections and images are known exactly."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import distance_transform_edt
from scipy.spatial.transform import Rotation

from pyscale_stages.atomic import flush_to_disk
from pyscale_stages.errors import BadInput
from pyscale_stages.kernels.stage import LOWER, KernelParams, Symmetry
from pyscale_stages.machine.place import refuse_lack_of_space
from pyscale_stages.measure import pagecache
from pyscale_stages.residency import CacheState

Array = npt.NDArray[np.float32]

N_BLOBS = 40
_RADIUS_OF_BOX = 0.25
_SIGMA_PX = 1.3
_NOISE_OF_SIGNAL = 2.0
"""Deviation of a half map's noise, in those of the signal: the correlation falls to nothing
between the middle of the box and its finest shell."""
SHIFTS_PX = ((0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))
"""Shifts (x, y) that each particle may have."""
NOISE_OF_SIGNAL = 0.3
"""Deviation of an image's noise, in those of its signal: low, so that a wrong result shows."""
SAME_MISFIT = 1.1
"""Misfit of a pose, in that of the true one, up to which it is as good: noise and interpolation
change that of views that look alike by up to 3 %, and of default size 999 others in 1000 have
more than this."""
FILE_NAME = "particles.raw"


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
        return np.asarray((along_z.T @ planes).reshape((box_px,) * 3).astype(np.float32))

    def projection(self, box_px: int) -> Array:
        """Sum of the density along z as (y, x), without sampling it."""
        along_x, along_y = (self._profile(axis, box_px) for axis in range(2))
        height = self.sigma_px * np.sqrt(2 * np.pi)
        return np.asarray((height * along_y.T @ along_x).astype(np.float32))

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
        return np.asarray(np.exp(-0.5 * (offsets / self.sigma_px) ** 2))


def random_blobs(rng: np.random.Generator, box_px: int, symmetry: Symmetry = "C1") -> Blobs:
    """Blobs in a ball that fills half the box, of a point group."""
    matrices = symmetry_matrices(symmetry)
    n = max(3, N_BLOBS // len(matrices))
    directions = rng.standard_normal((n, 3))
    # The cube root spreads centres evenly over the volume of the ball.
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


def half_radii(box_px: int) -> npt.NDArray[np.float64]:
    """Distance from the origin of a real map's half transform, in shells, as (z, y, x)."""
    full = np.fft.fftfreq(box_px, 1 / box_px)
    half = np.arange(box_px // 2 + 1)
    return np.asarray(np.sqrt(full[:, None, None] ** 2 + full[:, None] ** 2 + half**2))


def spherical_mask(box_px: int) -> Array:
    """A ball that nearly fills the box."""
    squares = (np.arange(box_px) - box_px // 2) ** 2.0
    radius = np.sqrt(squares[:, None, None] + squares[:, None] + squares)
    return soft_mask(radius - 0.42 * box_px, 0.06 * box_px)


def shape_mask(signal: Array, reach_px: float, edge_px: float) -> Array:
    """The signal's own shape, made larger by `reach_px`, with a soft edge outside it."""
    outside_px = distance_transform_edt(signal < 0.1 * signal.max())
    return soft_mask(outside_px - reach_px, edge_px)


@dataclass(frozen=True)
class Particles:
    """A simulated data set and the truth about it."""

    blobs: Blobs
    rotations: npt.NDArray[np.float32]
    """Orientations to choose from, as (pose, 3, 3)."""
    images: Array
    """As (particle, y, x)."""
    noise_std: float
    pose: npt.NDArray[np.int64]
    """True orientation of each particle, as an index of `rotations`."""
    shift: npt.NDArray[np.int64]
    """True shift of each particle, as an index of `SHIFTS_PX`."""

    def explains(self, particle: int, pose: int, shift: int) -> bool:
        """Whether a pose explains a particle's image as well as the true one, for views alike."""
        true = self.pose[particle], self.shift[particle]
        if (pose, shift) == true:
            return True
        return self._misfit(particle, pose, shift) <= SAME_MISFIT * self._misfit(particle, *true)

    def _misfit(self, particle: int, pose: int, shift: int) -> float:
        """Sum of squared differences between an image and the object in a pose, without noise."""
        view = project(self.blobs, self.rotations[pose], shift, self.images.shape[-1])
        return float(((self.images[particle] - view) ** 2).sum())


def simulate(params: KernelParams, rng: np.random.Generator, symmetry: Symmetry) -> Particles:
    """Project a symmetric object exactly, in orientations that the search contains."""
    blobs = random_blobs(rng, params.particle_px, symmetry)
    rotations = Rotation.random(params.poses, random_state=rng).as_matrix()
    pose = rng.integers(params.poses, size=params.particles)
    shift = rng.integers(len(SHIFTS_PX), size=params.particles)
    images = np.stack(
        [
            project(blobs, rotations[of_pose], of_shift, params.particle_px)
            for of_pose, of_shift in zip(pose, shift, strict=True)
        ]
    )
    noise_std = NOISE_OF_SIGNAL * float(images.std())
    images += np.float32(noise_std) * rng.standard_normal(images.shape, dtype=np.float32)
    return Particles(blobs, rotations.astype(np.float32), images, noise_std, pose, shift)


def project(blobs: Blobs, rotation: npt.NDArray[Any], shift: int, box_px: int) -> Array:
    """Image (y, x) of an object in a pose, without noise."""
    return blobs.rotated(rotation).shifted(*SHIFTS_PX[shift]).projection(box_px)


class OnDisk:
    """Particles in one file of plain numbers, each read by a call of its own."""

    def __init__(self, images: Array, folder: Path) -> None:
        self._shape = images.shape[1:]
        self._path = folder / FILE_NAME
        refuse_lack_of_space({folder: images.nbytes}, LOWER)
        self._path.write_bytes(images.tobytes())
        flush_to_disk(self._path)

    def before(self) -> CacheState | None:
        """Drive the file out of the page cache, and say whether that is proven."""
        return pagecache.evict(self._path).state

    def batch(self, order: npt.NDArray[np.int64]) -> Array:
        """Images of the given particles, in that order."""
        images = np.empty((len(order), *self._shape), dtype=np.float32)
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for image, particle in zip(images, order, strict=True):
                n_read = os.preadv(descriptor, [image.data.cast("B")], int(particle) * image.nbytes)
                if n_read != image.nbytes:
                    raise BadInput(f"{self._path} became shorter while it was read")
        finally:
            os.close(descriptor)
        return images
