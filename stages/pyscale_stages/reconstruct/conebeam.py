"""Cone beams: a source and a flat detector that go round a volume, by samples along rays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import grid_sample

SOURCE_LENGTHS, DETECTOR_LENGTHS = 2.0, 1.0
"""Distances of source and detector from the axis, in lengths of the volume."""
MAGNIFICATION = (SOURCE_LENGTHS + DETECTOR_LENGTHS) / SOURCE_LENGTHS
"""Cells of the detector are as much longer than voxels, and see one each at the axis."""
FEWEST_SAMPLES = 1 << 20
"""Samples at once where the volume is small; of a large one, half as many as it has voxels."""


@dataclass(frozen=True)
class ConeBeam:
    """Line integrals through a cubic volume of unit voxels, seen from some angles.

    The axis is z. At angle 0 the source lies at negative y and the detector's columns follow x;
    its rows follow z. It has as many rows and columns as the volume is long: they hold the shadow
    of the head of the phantom, and not that of the volume's corners.

    Each ray is sampled where it crosses planes across the central ray that are about one voxel
    apart, from the volume's first corner to its last; a sample is interpolated between 8 voxels,
    and beyond the volume there is nothing.

    `size`: length of the volume in voxels, and of the detector in cells.
    """

    size: int
    angles_deg: tuple[float, ...]

    @property
    def source_distance(self) -> float:
        """Distance of the source from the axis, in voxels."""
        return SOURCE_LENGTHS * self.size

    @property
    def detector_distance(self) -> float:
        """Distance of the detector from the axis, in voxels."""
        return DETECTOR_LENGTHS * self.size

    def vectors(self) -> torch.Tensor:
        """Describe each angle as ASTRA does (`cone_vec`), in voxels: (angles, 12)."""
        # As x, y, z: the source, the detector's middle, and the steps to the next column and row.
        source, detector = self.source_distance, self.detector_distance
        rows = []
        for angle in self.angles_deg:
            cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            parts = (
                (sine * source, -cosine * source, 0.0),
                (-sine * detector, cosine * detector, 0.0),
                (MAGNIFICATION * cosine, MAGNIFICATION * sine, 0.0),
                (0.0, 0.0, MAGNIFICATION),
            )
            rows.append([number for part in parts for number in part])
        return torch.tensor(rows, dtype=torch.float64)

    def project(self, volume: torch.Tensor) -> torch.Tensor:
        """Integrate along all rays: (1, channels, rows, angles, columns) of a volume."""
        seen = volume.new_zeros(*volume.shape[:2], self.size, len(self.angles_deg), self.size)
        for number in range(len(self.angles_deg)):
            for places in self._places(number, volume):
                samples = grid_sample(volume, places, padding_mode="zeros", align_corners=True)
                seen[..., number, :] += samples.sum(2)
            seen[..., number, :] *= self._step_lengths(number, volume)
        return seen

    def back_project(self, seen: torch.Tensor) -> torch.Tensor:
        """Apply the exact transpose of `project`."""
        shape = (*seen.shape[:2], self.size, self.size, self.size)
        volume = seen.new_zeros(shape)
        # Its values do not matter, as the projection is linear in them: one number will do.
        blank = seen.new_zeros(()).expand(shape)
        transpose: Any = torch.ops.aten.grid_sampler_3d_backward
        for number in range(len(self.angles_deg)):
            weighted = seen[..., number, :] * self._step_lengths(number, seen)
            for places in self._places(number, seen):
                of_samples = weighted[:, :, None].expand(-1, -1, places.shape[1], -1, -1)
                # Differentiating grid_sample would first compute what it samples, for nothing.
                part, _ = transpose(of_samples, blank, places, 0, 0, True, (True, False))
                volume += part
        return volume

    def _planes(self, number: int) -> tuple[int, float]:
        """How many planes across the central ray hold the volume, and their distance."""
        angle = math.radians(self.angles_deg[number])
        length = (self.size + 1) * (abs(math.cos(angle)) + abs(math.sin(angle)))
        count = math.ceil(length)
        return count, length / count

    def _step_lengths(self, number: int, like: torch.Tensor) -> torch.Tensor:
        """What each ray covers from a plane to the next: (rows, columns), in voxels."""
        _, step = self._planes(number)
        slope = self._cells(like) / (self.source_distance + self.detector_distance)
        return step * torch.sqrt(1 + slope[:, None] ** 2 + slope[None, :] ** 2)

    def _cells(self, like: torch.Tensor) -> torch.Tensor:
        """Where rows, and columns, lie from the detector's middle, in voxels."""
        cells = torch.arange(self.size, dtype=like.dtype, device=like.device)
        return MAGNIFICATION * (cells - (self.size - 1) / 2)

    def _places(self, number: int, like: torch.Tensor) -> Iterator[torch.Tensor]:
        """Give places of samples, (1, planes, rows, columns, 3), as x, y, z from -1 to 1."""
        angle = math.radians(self.angles_deg[number])
        cosine, sine = math.cos(angle), math.sin(angle)
        count, step = self._planes(number)
        cells = self._cells(like)
        at_once = max(FEWEST_SAMPLES, self.size**3 // 2) // self.size**2
        for first in range(0, count, at_once):
            plane = torch.arange(
                first, min(first + at_once, count), dtype=like.dtype, device=like.device
            )
            depth = step * (plane - (count - 1) / 2)
            nearer = (self.source_distance + depth) / (
                self.source_distance + self.detector_distance
            )
            across = nearer[:, None, None] * cells
            up = nearer[:, None, None] * cells[:, None]
            along = depth[:, None, None]
            xyz = (cosine * across - sine * along, sine * across + cosine * along, up)
            shape = (len(plane), self.size, self.size)
            # With align_corners the centres of the outermost voxels lie at -1 and 1.
            whole = 2 / (self.size - 1)
            yield torch.stack([(whole * axis).expand(shape) for axis in xyz], dim=-1)[None]
