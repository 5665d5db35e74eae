from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from pyscale_stages.kernels import engine, slices
from pyscale_stages.kernels.maps import random_blobs
from pyscale_stages.kernels.particles import SHIFTS_PX


def test_scores_are_log_likelihoods_up_to_a_constant() -> None:
    rng = np.random.default_rng(0)
    images, references = (
        (rng.standard_normal((n, 30)) + 1j * rng.standard_normal((n, 30))).astype(np.complex64)
        for n in (3, 5)
    )
    got = engine.log_likelihoods(
        torch.from_numpy(images), torch.from_numpy(references), 2.5
    ).numpy()
    squares = np.sum(np.abs(images[:, None] - references) ** 2, axis=-1)
    expected = -squares / (2 * 2.5)
    difference = got - expected
    assert np.ptp(difference, axis=1).max() < 1e-4


def test_maximisation_takes_one_pose_with_all_weight() -> None:
    scores = torch.zeros((2, 3, 4))
    scores[0, 1, 2] = scores[1, 2, 0] = 1.0
    chosen = engine.assign(scores, "max", 3)
    assert chosen.pose.tolist() == [[2], [0]]
    assert chosen.shift.tolist() == [[1], [2]]
    assert chosen.share.tolist() == [[1], [1]]


def test_marginalisation_takes_the_best_poses_by_their_posterior_shares() -> None:
    scores = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    chosen = engine.assign(torch.from_numpy(scores), "marg", 12)
    expected = np.exp(scores - logsumexp(scores, axis=(1, 2), keepdims=True))
    for particle in range(2):
        at = chosen.shift[particle].numpy(), chosen.pose[particle].numpy()
        assert chosen.share[particle].numpy() == pytest.approx(expected[particle][at], abs=1e-6)
    few = engine.assign(torch.from_numpy(scores), "marg", 3)
    assert few.pose.shape == (2, 3)
    assert few.share.sum(dim=1).tolist() == pytest.approx([1, 1])
    assert (few.share.diff(dim=1) <= 0).all()


@pytest.mark.parametrize("number", range(len(SHIFTS_PX)))
def test_a_shifted_image_is_moved_back_by_its_own_phases(number: int) -> None:
    box_px = 32
    blobs = random_blobs(np.random.default_rng(2), box_px)
    index, frequencies = slices.disc(box_px)
    phases = engine.shift_phases(frequencies, box_px)
    images = np.stack([blobs.shifted(*SHIFTS_PX[number]).projection(box_px), blobs.projection(32)])
    shifted, middle = slices.image_transforms(torch.from_numpy(images))[:, index]
    distances = [float((shifted * phase - middle).abs().max()) for phase in phases]
    assert int(np.argmin(distances)) == number
    assert min(distances) < 1e-2 * float(middle.abs().max())
