"""Alignment and reconstruction: one expectation-maximisation step over particle images.

Every particle is compared with central slices of a reference at many orientations and shifts,
gets one pose (max) or shares of several (marg), and is inserted into a new transform at them, and
at all that a symmetry makes of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from pyscale_stages.kernels.particles import (
    SHIFTS_PX,
    InMemory,
    OnDisk,
    Particles,
    simulate,
    symmetry_matrices,
)
from pyscale_stages.kernels.slices import (
    PADDING,
    Reconstruction,
    disc,
    image_transforms,
    project,
    slice_positions,
    volume_transform,
)
from pyscale_stages.kernels.stage import Assignment, Combination
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
    source: InMemory | OnDisk
    source = InMemory(made.images) if how.place == "memory" else OnDisk(made.images, bench.scratch)
    engine = Engine(bench, made, how)
    order = bench.rng("order").permutation(bench.params.particles)
    step = bench.params.particle_batch
    parts = [order[start : start + step] for start in range(0, len(order), step)]

    def read(part: npt.NDArray[np.int64], clock: StepClock) -> npt.NDArray[np.float32]:
        with clock.step("load_particles", amount=len(part) * made.images[0].nbytes):
            return source.batch(part)

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
    return Work(once, lambda result: judged(result, made, order, truth), source.before)


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
