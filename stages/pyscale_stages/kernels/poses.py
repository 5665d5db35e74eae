"""The orientation and shift of a particle: the most likely one, or a share of several."""

from __future__ import annotations

from typing import NamedTuple

import torch

from pyscale_stages.kernels.params import Assignment
from pyscale_stages.kernels.particles import SHIFTS_PX


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
    """Log-likelihood of each image at each reference, as (image, reference), up to a constant.

    White noise: -|X - C|^2 / (2 v) summed over all coefficients, in which each real number of
    the image counts twice, as a coefficient and its conjugate. |X|^2 is the same for all.
    """
    of_images = torch.view_as_real(images).flatten(1)
    of_references = torch.view_as_real(references).flatten(1)
    cross = of_images @ of_references.T
    return (cross - 0.5 * of_references.square().sum(dim=1)) / variance


def assign(scores: torch.Tensor, method: Assignment, n_marginal: int) -> Assigned:
    """Choose poses by their log-likelihoods.

    `method`: the best alone, or the best `n_marginal`, each with its posterior share.
    """
    n_poses = scores.shape[-1]
    best = scores.flatten(1).topk(1 if method == "max" else n_marginal, dim=1)
    share = best.values.softmax(dim=1)
    return Assigned(
        pose=best.indices % n_poses,
        shift=best.indices.div(n_poses, rounding_mode="floor"),
        share=share,
    )
