"""Alignment and reconstruction: one expectation-maximisation step over particle images.

Every particle is compared with central slices of a reference at many orientations and shifts,
gets one pose (max) or shares of several (marg), and is inserted into a new transform at them, and
at all that a symmetry makes of them.

The transform of a projection is the central slice of the volume's transform across the direction
of projection. A slice's coefficients lie between those of the grid, so that each is interpolated
from its neighbours: 8 with trilinear weights, 64 with tricubic ones (cubic convolution with
a = -1/2, Keys 1981, doi:10.1109/TASSP.1981.1163711). Insertion is the transpose: each coefficient
is spread over the same neighbours with the same weights, and the sum is divided by the weights'.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from pyscale_stages.kernels.particles import (
    SHIFTS_PX,
    OnDisk,
    Particles,
    simulate,
    symmetry_matrices,
)
from pyscale_stages.kernels.stage import Assignment, Combination, Kernel
from pyscale_stages.kernels.work import Bench, Judgement, StepClock, Work

LEAST_WEIGHT = 0.5
"""Voxels that got less than this part of a coefficient stay empty."""
ERROR_TOLERANCE = 0.1


@dataclass(frozen=True)
class Outcome:
    """What one run leaves, beside its times."""

    pose: npt.NDArray[np.int64]
    """Most likely orientation of each particle, in the order in which they were read."""
    shift: npt.NDArray[np.int64]
    built: Reconstruction
    volume: npt.NDArray[np.float32]


class Engine:
    """The reference, the orientations and the constants of a run, where the device is."""

    def __init__(self, bench: Bench, made: Particles, how: Combination) -> None:
        self.bench, self.made, self.how = bench, made, how
        self.box_px = bench.params.particle_px
        self.grid_px = PADDING * self.box_px
        index, frequencies = disc(self.box_px)
        self.index, self.frequencies = index.to(bench.device), frequencies.to(bench.device)
        self.rotations = torch.from_numpy(made.rotations).to(bench.device)
        matrices = symmetry_matrices(how.symmetry).astype("float32")
        self.symmetry = torch.from_numpy(matrices).to(bench.device)
        self.phases = shift_phases(self.frequencies, self.box_px)
        volume = torch.from_numpy(made.blobs.volume(self.box_px)).to(bench.device)
        self.reference = volume_transform(volume)
        # A transform without a factor sums the noise of all pixels into each coefficient.
        self.variance = self.box_px**2 * made.noise_std**2

    def run(
        self, batches: Iterator[npt.NDArray[np.float32]], clock: StepClock
    ) -> tuple[list[Assigned], Reconstruction]:
        """Align and insert batch after batch, in the order in which they come."""
        found, built = [], Reconstruction(self.grid_px, self.bench.device)
        for images in batches:
            chosen = self._batch(images, built, clock)
            found.append(chosen)
        return found, built

    def _batch(
        self, images: npt.NDArray[np.float32], built: Reconstruction, clock: StepClock
    ) -> Assigned:
        with clock.transfer("put_particles_on_device", images.nbytes):
            there = torch.from_numpy(images).to(self.bench.device)
        with clock.step("fft"):
            observed = image_transforms(there)[:, self.index]
        with clock.step("project"):
            at = slice_positions(self.rotations, self.frequencies, self.grid_px)
            references = project(self.reference, at, self.how.kernel)
        with clock.step("compare"):
            centred = observed[:, None] * self.phases
            scores = log_likelihoods(centred.flatten(0, 1), references, self.variance)
            scores = scores.reshape(len(images), len(self.phases), -1)
        with clock.step("assign"):
            chosen = assign(scores, self.how.assignment, self.bench.params.marginal_poses)
        with clock.step("insert"):
            each = torch.arange(len(images), device=self.bench.device)
            for n in range(chosen.pose.shape[1]):
                values = centred[each, chosen.shift[:, n]]
                for matrix in self.symmetry:
                    # The object turned by its symmetry first is the same object.
                    rotations = self.rotations[chosen.pose[:, n]] @ matrix
                    at = slice_positions(rotations, self.frequencies, self.grid_px)
                    built.insert(values, chosen.share[:, n], at, self.how.kernel)
        return chosen


def prepare(bench: Bench, *, how: Combination) -> Work[Outcome]:
    """Particles in memory or in a file, and everything constant on the device."""
    # All combinations of a symmetry see the same particles, so that they can be compared.
    made = simulate(bench.params, bench.rng(f"particles_{how.symmetry}"), how.symmetry)
    on_disk = OnDisk(made.images, bench.scratch) if how.place == "disk" else None
    batch = made.images.__getitem__ if on_disk is None else on_disk.batch
    engine = Engine(bench, made, how)
    order = bench.rng("order").permutation(bench.params.particles)
    step = bench.params.particle_batch
    parts = [order[start : start + step] for start in range(0, len(order), step)]

    def read(part: npt.NDArray[np.int64], clock: StepClock) -> npt.NDArray[np.float32]:
        with clock.step("load_particles", amount=len(part) * made.images[0].nbytes):
            return batch(part)

    def once(clock: StepClock) -> Outcome:
        if how.threads == "single":
            found, built = engine.run((read(part, clock) for part in parts), clock)
        else:
            # One step's end would wait for what another does: only the whole has a time.
            clock = replace(clock, keeps_steps=False)
            with ThreadPoolExecutor(max_workers=1) as reader:
                found, built = engine.run(read_ahead(reader, read, parts, clock), clock)
        with clock.step("get_result"):
            pose, shift = (
                torch.cat([getattr(chosen, kind)[:, 0] for chosen in found]).cpu().numpy()
                for kind in ("pose", "shift")
            )
            volume = built.volume(engine.box_px, LEAST_WEIGHT).cpu().numpy()
        return Outcome(pose, shift, built, volume)

    truth = engine.reference.cpu().numpy()
    before = on_disk.before if on_disk is not None else lambda: None
    return Work(once, lambda result: judged(result, made, order, truth), before)


def read_ahead(
    reader: ThreadPoolExecutor, read: Any, parts: list[Any], clock: StepClock
) -> Iterator[npt.NDArray[np.float32]]:
    """Give batch after batch, while a second thread reads the next one."""
    coming = reader.submit(read, parts[0], clock)
    for part in parts[1:]:
        ready = coming.result()
        coming = reader.submit(read, part, clock)
        yield ready
    yield coming.result()


def judged(
    result: Outcome, made: Particles, order: npt.NDArray[np.int64], truth: npt.NDArray[np.complex64]
) -> Judgement:
    """Poses must explain the images, and the reconstruction must be that of the object."""
    found = zip(order, result.pose, result.shift, strict=True)
    right = np.mean([made.explains(*particle) for particle in found])
    real, imag, weight = (
        part.cpu().numpy() for part in (result.built.real, result.built.imag, result.built.weight)
    )
    # What voxels hold before they are divided by their weights, which may be next to nothing.
    got, expected = real + 1j * imag, weight * truth.ravel()
    norm = np.linalg.norm(got) * np.linalg.norm(expected)
    correlation = float(np.vdot(expected, got).real / norm) if norm else 0.0
    return Judgement(
        checksum=float(np.linalg.norm(result.volume)),
        error=max(1 - float(right), 1 - correlation),
        tolerance=ERROR_TOLERANCE,
        more={"right_poses": float(right), "correlation_with_truth": correlation},
    )


class Assigned(NamedTuple):
    """Poses of particles, as (particle, choice), the most likely first."""

    pose: torch.Tensor
    shift: torch.Tensor
    share: torch.Tensor
    """Posterior probability, 1 in total for each particle."""


def shift_phases(frequencies: torch.Tensor, box_px: int) -> torch.Tensor:
    """Factors (shift, coefficient) that move a shifted image back to the middle."""
    shifts = torch.tensor(SHIFTS_PX, device=frequencies.device)
    turns = shifts @ frequencies[:, :2].T / box_px
    return torch.polar(torch.ones_like(turns), 2 * torch.pi * turns)


def log_likelihoods(
    images: torch.Tensor, references: torch.Tensor, variance: float
) -> torch.Tensor:
    """Log-likelihood of each image at each reference, as (image, reference), up to a constant."""
    # White noise: -|X - C|^2 / (2 v) summed over all coefficients, in which each real number of the
    # image counts twice, as a coefficient and its conjugate. |X|^2 is the same for all.
    of_images = torch.view_as_real(images).flatten(1)
    of_references = torch.view_as_real(references).flatten(1)
    cross = of_images @ of_references.T
    return (cross - 0.5 * of_references.square().sum(dim=1)) / variance


def assign(scores: torch.Tensor, method: Assignment, n_marginal: int) -> Assigned:
    """Choose the likeliest pose, or the `n_marginal` likeliest, each with its posterior share."""
    n_poses = scores.shape[-1]
    best = scores.flatten(1).topk(1 if method == "max" else n_marginal, dim=1)
    share = best.values.softmax(dim=1)
    return Assigned(
        pose=best.indices % n_poses,
        shift=best.indices.div(n_poses, rounding_mode="floor"),
        share=share,
    )


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
