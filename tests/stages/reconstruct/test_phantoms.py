import math

import pytest

from pyscale_stages.reconstruct.phantoms import HEAD_2D, HEAD_3D, phantom
from pyscale_stages.reconstruct.stage import ReconstructParams


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
