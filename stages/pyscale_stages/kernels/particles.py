"""Particle images with known poses, in memory or in a file, handed out in a random order."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from pyscale_stages.errors import BadInput
from pyscale_stages.kernels.maps import Blobs, random_blobs
from pyscale_stages.kernels.params import LOWER, KernelParams, Symmetry
from pyscale_stages.machine.place import refuse_lack_of_space
from pyscale_stages.measure import pagecache
from pyscale_stages.residency import CacheState

Images = npt.NDArray[np.float32]

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
class Particles:
    """A simulated data set and the truth about it."""

    blobs: Blobs
    rotations: npt.NDArray[np.float32]
    """Orientations to choose from, as (pose, 3, 3)."""
    images: Images
    """As (particle, y, x)."""
    noise_std: float
    pose: npt.NDArray[np.int64]
    """True orientation of each particle, as an index of `rotations`."""
    shift: npt.NDArray[np.int64]
    """True shift of each particle, as an index of `SHIFTS_PX`."""

    def explains(self, particle: int, pose: int, shift: int) -> bool:
        """Whether a particle's image looks as one in a pose, as far as its noise lets one tell.

        Views of a small or symmetric object can be so alike that the true one is not the nearest.
        """
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


def project(blobs: Blobs, rotation: npt.NDArray[Any], shift: int, box_px: int) -> Images:
    """Image (y, x) of an object in a pose, without noise."""
    return blobs.rotated(rotation).shifted(*SHIFTS_PX[shift]).projection(box_px)


class InMemory:
    """Particles in memory: a batch is copied together from it."""

    def __init__(self, images: Images) -> None:
        self._images = images

    def before(self) -> CacheState | None:
        """There is no file."""
        return None

    def batch(self, order: npt.NDArray[np.int64]) -> Images:
        """Images of the given particles, in that order."""
        return self._images[order]


class OnDisk:
    """Particles in one file of plain numbers, each read by a call of its own."""

    def __init__(self, images: Images, folder: Path) -> None:
        self._shape = images.shape[1:]
        self._path = folder / FILE_NAME
        refuse_lack_of_space({folder: images.nbytes}, LOWER)
        with self._path.open("wb") as file:
            file.write(images.tobytes())
            file.flush()
            os.fsync(file.fileno())

    def before(self) -> CacheState | None:
        """Drive the file out of the page cache, and say whether that is proven."""
        return pagecache.evict(self._path).state

    def batch(self, order: npt.NDArray[np.int64]) -> Images:
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
