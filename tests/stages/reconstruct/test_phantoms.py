"""Images that are reconstructed."""

import math

import pytest
import torch

from pyscale_stages.reconstruct.params import ReconstructParams
from pyscale_stages.reconstruct.phantoms import HEAD_2D, HEAD_3D, phantom


def colour_image(seed, size_px=128):
    return phantom(ReconstructParams(problem="colour_deblur", size_px=size_px), seed)


def test_a_colour_image_follows_from_its_seed_and_has_sharp_edges_and_smooth_areas():
    assert torch.equal(colour_image(3), colour_image(3))
    assert not torch.equal(colour_image(3), colour_image(4))
    image = colour_image(0)
    assert image.shape == (1, 3, 128, 128)
    assert image.dtype == torch.float32
    assert 0 <= image.min() < 0.1
    assert 0.9 < image.max() <= 1
    steps = image.diff(dim=-1).abs()
    assert 0.03 < (steps > 0.2).float().mean() < 0.5
    assert (steps < 0.01).float().mean() > 0.2


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_head_holds_the_ellipses_that_were_published(dimensions):
    size = 96
    problem = "tomography_2d" if dimensions == 2 else "tomography_3d"
    head = phantom(ReconstructParams(problem=problem, size_px=size), 0)
    assert head.shape == (1, 1, *(size,) * dimensions)
    assert head.min() == 0
    assert head.max() == 1
    unit_ball = math.pi if dimensions == 2 else 4 / 3 * math.pi
    ellipses = HEAD_2D if dimensions == 2 else HEAD_3D
    volumes = [unit_ball * value * math.prod(rest[:dimensions]) for value, *rest in ellipses]
    assert head.sum().item() * (2 / size) ** dimensions == pytest.approx(sum(volumes), rel=0.02)
