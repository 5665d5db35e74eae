import math
from importlib.util import find_spec
from typing import get_args

import pytest
import torch

from atleastone import some
from pyscale_stages.errors import MissingPart
from pyscale_stages.reconstruct import stage as settings
from pyscale_stages.reconstruct.problems import (
    KERNEL_PX,
    LENGTHS_PX,
    WIDTHS_PX,
    angles_of,
    anisotropic_gaussian,
    problem_of,
)
from pyscale_stages.reconstruct.stage import ReconstructParams
from refusals import refused

ALL_PROBLEMS = get_args(settings.Problem)
SMALL = {"size_px": 32, "operators": 3, "angles": 10}
NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU works here")


def small(name, seed=0, **others):
    return problem_of(ReconstructParams(**(SMALL | {"problem": name} | others)), seed)


def dot(a, b):
    return float((a.double() * b.double()).sum())


@pytest.mark.parametrize("name", ALL_PROBLEMS)
def test_the_adjoint_of_every_operator_is_its_exact_transpose(name):
    problem = small(name)
    random = torch.Generator().manual_seed(0)
    for index in some(range(problem.operators)):
        operator = problem.operator(index, "cpu")
        image = torch.rand(problem.image.shape, generator=random)
        seen = operator.A(image)
        other = torch.rand(seen.shape, generator=random)
        assert dot(seen, other) == pytest.approx(dot(image, operator.A_adjoint(other)), rel=1e-5)


@pytest.mark.parametrize("name", ALL_PROBLEMS)
def test_a_rank_measures_the_same_whatever_others_measure(name):
    first, second = small(name), small(name)
    all_of_them = [first.measurement(index, "cpu") for index in range(3)]
    for index in (2, 0):
        assert torch.equal(second.measurement(index, "cpu"), all_of_them[index])
    assert not torch.equal(small(name, seed=1).measurement(2, "cpu"), all_of_them[2])


def test_noise_is_a_share_of_the_largest_value_and_no_two_operators_share_it():
    problem = small("colour_deblur", noise=0.1)
    noises = [
        problem.measurement(index, "cpu") - problem.operator(index, "cpu").A(problem.image)
        for index in range(2)
    ]
    together = torch.corrcoef(torch.stack([noise.flatten() for noise in noises]))
    assert abs(together[0, 1]) < 0.1
    clean = small("tomography_2d", noise=0).measurement(0, "cpu")
    noise = small("tomography_2d", noise=0.1).measurement(0, "cpu") - clean
    assert noise.std().item() == pytest.approx(0.1 * clean.max().item(), rel=0.2)


@pytest.mark.parametrize(("name", "axis"), [("tomography_2d", -1), ("tomography_3d", -2)])
def test_groups_of_angles_are_one_operator_of_all_angles(name, axis):
    problem, whole = small(name), small(name, operators=1)
    groups = [problem.operator(index, "cpu").A(problem.image) for index in range(3)]
    torch.testing.assert_close(
        torch.cat(groups, axis), whole.operator(0, "cpu").A(problem.image), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(("name", "whole"), [("tomography_2d", 180), ("tomography_3d", 360)])
def test_angles_are_shared_out_in_order_and_evenly(name, whole):
    params = small(name).params
    groups = [angles_of(params, index) for index in range(3)]
    assert [len(group) for group in groups] == [3, 3, 4]
    spread = [angle for group in groups for angle in group]
    assert spread == pytest.approx([whole * number / 10 for number in range(10)])


# torch of AMD calls its devices cuda too, and has no CUDA.
@pytest.mark.parametrize(("device", "cuda"), [("cpu", None), ("cpu", "13.0"), ("cuda", None)])
def test_astra_without_a_gpu_of_nvidia_is_refused_in_a_sentence(monkeypatch, device, cuda):
    monkeypatch.setattr(torch.version, "cuda", cuda)
    with refused(MissingPart):
        small("tomography_3d", projector="astra").operator(0, device)


@NO_GPU
@pytest.mark.parametrize("name", ALL_PROBLEMS)
def test_a_gpu_measures_what_a_processor_does(name):
    problem = small(name)
    on_gpu, on_cpu = (problem.measurement(1, device).cpu() for device in ("cuda", "cpu"))
    torch.testing.assert_close(on_gpu, on_cpu, rtol=1e-4, atol=1e-4)


@NO_GPU
@pytest.mark.skipif(find_spec("astra") is None, reason="astra-toolbox is not installed here")
def test_astra_sees_along_the_same_rays():
    ours, of_astra = (
        small("tomography_3d", size_px=64, projector=name).operator(0, "cuda")
        for name in ("torch", "astra")
    )
    image = small("tomography_3d", size_px=64).image.cuda()
    seen, expected = ours.A(image), of_astra.A(image)
    assert seen.shape == expected.shape
    assert (seen - expected).norm() < 0.02 * expected.norm()


def moments(kernel):
    """Variances of a kernel, the largest last, and in which directions (x, y) these lie."""
    off = torch.arange(KERNEL_PX, dtype=torch.float64) - KERNEL_PX // 2
    y, x = torch.meshgrid(off, off, indexing="ij")
    weights = kernel[0, 0].double()
    mixed = (weights * x * y).sum()
    values, vectors = torch.linalg.eigh(
        torch.tensor([[(weights * x * x).sum(), mixed], [mixed, (weights * y * y).sum()]])
    )
    return values, vectors


@pytest.mark.parametrize("index", range(8))
def test_a_blur_keeps_brightness_and_is_long_in_its_own_direction(index):
    kernel = anisotropic_gaussian(index, 8)
    assert kernel.shape == (1, 1, KERNEL_PX, KERNEL_PX)
    assert kernel.sum().item() == pytest.approx(1, abs=1e-6)
    assert anisotropic_gaussian(0, 1).sum().item() == pytest.approx(1, abs=1e-6)
    (across, along), vectors = moments(kernel)
    shares = [first + index / 7 * (last - first) for first, last in (LENGTHS_PX, WIDTHS_PX)]
    assert along.sqrt().item() == pytest.approx(shares[0], rel=0.02)
    assert across.sqrt().item() == pytest.approx(shares[1], rel=0.02)
    direction = torch.tensor([math.cos(math.pi * index / 8), math.sin(math.pi * index / 8)])
    assert abs(float(vectors[:, 1] @ direction.double())) == pytest.approx(1, abs=1e-3)
