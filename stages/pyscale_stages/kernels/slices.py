"""Central slices of a 3D transform: taken out of it and put back, by trilinear or tricubic weights.

The transform of a projection is the central slice of the volume's transform across the direction
of projection. A slice's coefficients lie between those of the grid, so that each is interpolated
from its neighbours: 8 with trilinear weights, 64 with tricubic ones (cubic convolution with
a = -1/2, Keys 1981, doi:10.1109/TASSP.1981.1163711). Insertion is the transpose: each coefficient
is spread over the same neighbours with the same weights, and the sum is divided by the weights'.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch

from pyscale_stages.kernels.stage import Kernel

REACH: dict[Kernel, int] = {"linear10": 1, "linear20": 2}
"""Neighbours on either side of a coefficient, along each axis."""
PADDING = 2
"""How much finer than the images' the grid of the transform is, by zeros around the volume."""


def disc(box_px: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Places of the compared coefficients in a flattened, centred transform; their frequencies."""
    axis = torch.arange(box_px) - box_px // 2
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    # Two short of the edge, so that all 64 neighbours lie on the grid at any rotation.
    inside = (x**2 + y**2 < (box_px // 2 - 2) ** 2).reshape(-1)
    frequencies = torch.stack([x.reshape(-1), y.reshape(-1), torch.zeros(box_px**2)], dim=1)
    return inside.nonzero()[:, 0], frequencies[inside].float()


def volume_transform(volume: torch.Tensor) -> torch.Tensor:
    """Centred transform of a volume (z, y, x) padded with zeros to twice its edge."""
    pad = volume.shape[0] * (PADDING - 1) // 2
    padded = torch.nn.functional.pad(volume, (pad,) * 6)
    found: torch.Tensor = torch.fft.fftshift(torch.fft.fftn(torch.fft.ifftshift(padded)))
    return found


def image_transforms(images: torch.Tensor) -> torch.Tensor:
    """Centred transforms of images (n, y, x), each flattened."""
    axes = (-2, -1)
    shifted = torch.fft.ifftshift(images, dim=axes)
    centred: torch.Tensor = torch.fft.fftshift(torch.fft.fft2(shifted, dim=axes), dim=axes)
    return centred.flatten(1)


def slice_positions(
    rotations: torch.Tensor, frequencies: torch.Tensor, grid_px: int
) -> torch.Tensor:
    """Places of slices' coefficients on the grid, as (slice, coefficient, xyz) in voxels."""
    # The view's frequency f belongs to the volume's R^T f; as rows, that is f R.
    return PADDING * (frequencies @ rotations) + grid_px // 2


def neighbours(
    positions: torch.Tensor, grid_px: int, kernel: Kernel
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """For each neighbour, its flat index in the grid and its weight, for all positions at once."""
    corner = positions.floor()
    fraction = positions - corner
    base = corner.to(torch.int64)
    reach = REACH[kernel]
    offsets = range(1 - reach, reach + 1)
    weights = {offset: _weight((fraction - offset).abs(), kernel) for offset in offsets}
    for in_z, in_y, in_x in product(offsets, repeat=3):
        index = (base[..., 2] + in_z) * grid_px + base[..., 1] + in_y
        index = index * grid_px + base[..., 0] + in_x
        yield index, weights[in_z][..., 2] * weights[in_y][..., 1] * weights[in_x][..., 0]


def _weight(distance: torch.Tensor, kernel: Kernel) -> torch.Tensor:
    """Weight of a neighbour along one axis, by its distance in voxels."""
    if kernel == "linear10":
        return 1 - distance
    near = (1.5 * distance - 2.5) * distance**2 + 1
    far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    return torch.where(distance <= 1, near, far)


def project(grid: torch.Tensor, positions: torch.Tensor, kernel: Kernel) -> torch.Tensor:
    """Coefficients of the grid at the positions, as (slice, coefficient)."""
    flat = grid.reshape(-1)
    total = torch.zeros(positions.shape[:-1], dtype=grid.dtype, device=grid.device)
    for index, weight in neighbours(positions, grid.shape[0], kernel):
        total += flat[index] * weight
    return total


class Reconstruction:
    """Sums of inserted coefficients and of their weights.

    Real and imaginary parts are kept apart: not every device adds complex numbers in place.
    """

    def __init__(self, grid_px: int, device: torch.device) -> None:
        self.grid_px = grid_px
        self.real, self.imag, self.weight = (
            torch.zeros(grid_px**3, device=device) for _ in range(3)
        )

    def insert(
        self, values: torch.Tensor, shares: torch.Tensor, positions: torch.Tensor, kernel: Kernel
    ) -> None:
        """Add slices' coefficients, each slice with its share (slice,)."""
        share = shares[:, None]
        for index, weight in neighbours(positions, self.grid_px, kernel):
            part, flat = weight * share, index.reshape(-1)
            self.real.index_add_(0, flat, (values.real * part).reshape(-1))
            self.imag.index_add_(0, flat, (values.imag * part).reshape(-1))
            self.weight.index_add_(0, flat, part.reshape(-1))

    def transform(self, least_weight: float) -> torch.Tensor:
        """The mean coefficient of each voxel that has enough weight, and 0 elsewhere."""
        enough = self.weight > least_weight
        divisor = torch.where(enough, self.weight, torch.ones_like(self.weight))
        parts = (
            torch.where(enough, part / divisor, torch.zeros_like(part))
            for part in (self.real, self.imag)
        )
        return torch.complex(*parts).reshape((self.grid_px,) * 3)

    def volume(self, box_px: int, least_weight: float) -> torch.Tensor:
        """The density (z, y, x) of which the slices were taken, as far as they cover it."""
        centred = torch.fft.ifftshift(self.transform(least_weight))
        whole: torch.Tensor = torch.fft.fftshift(torch.fft.ifftn(centred)).real
        start = (self.grid_px - box_px) // 2
        inside = slice(start, start + box_px)
        return whole[inside, inside, inside]
