"""Blurs of the colour problem."""

from __future__ import annotations

import math

import pytest
import torch

from pyscale_stages.reconstruct.kernels import (
    KERNEL_PX,
    LENGTHS_PX,
    WIDTHS_PX,
    anisotropic_gaussian,
)


def moments(kernel: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
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
def test_a_blur_keeps_brightness_and_is_long_in_its_own_direction(index: int) -> None:
    kernel = anisotropic_gaussian(index, 8)
    assert kernel.shape == (1, 1, KERNEL_PX, KERNEL_PX)
    assert kernel.sum().item() == pytest.approx(1, abs=1e-6)
    (across, along), vectors = moments(kernel)
    shares = [first + index / 7 * (last - first) for first, last in (LENGTHS_PX, WIDTHS_PX)]
    assert along.sqrt().item() == pytest.approx(shares[0], rel=0.02)
    assert across.sqrt().item() == pytest.approx(shares[1], rel=0.02)
    direction = torch.tensor([math.cos(math.pi * index / 8), math.sin(math.pi * index / 8)])
    assert abs(float(vectors[:, 1] @ direction.double())) == pytest.approx(1, abs=1e-3)


def test_one_blur_alone_can_be_made() -> None:
    assert anisotropic_gaussian(0, 1).sum().item() == pytest.approx(1, abs=1e-6)
