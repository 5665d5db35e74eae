"""Fourier transforms of images and of a volume, there and back."""

from __future__ import annotations

import math

import numpy as np
import torch

from pyscale_stages.kernels.params import KernelParams
from pyscale_stages.kernels.work import Bench, Judgement, StepClock, Work

ROUND_TRIP_TOLERANCE = 1e-5
"""Single precision has steps of 6e-8, and errors grow with the logarithm of the size."""


def flop_of_real_pair(elements: int) -> float:
    """Operations of a real transform and its inverse, by the convention of FFTW's benchmarks.

    They count 2.5 N log2 N for a real transform, whatever the algorithm really does
    (https://www.fftw.org/speed/method.html).
    """
    return 2 * 2.5 * elements * math.log2(elements)


def flop_2d(params: KernelParams) -> float:
    """Operations of the test of images."""
    return params.fft_images * flop_of_real_pair(params.fft_2d_px**2)


def flop_3d(params: KernelParams) -> float:
    """Operations of the test of a volume."""
    return flop_of_real_pair(params.fft_3d_px**3)


def prepare_2d(bench: Bench) -> Work[tuple[torch.Tensor, torch.Tensor]]:
    """Images of noise, transformed in one call."""
    n, px = bench.params.fft_images, bench.params.fft_2d_px
    return _prepared(bench, "fft_2d", (n, px, px), (-2, -1))


def prepare_3d(bench: Bench) -> Work[tuple[torch.Tensor, torch.Tensor]]:
    """A volume of noise."""
    px = bench.params.fft_3d_px
    return _prepared(bench, "fft_3d", (px, px, px), (-3, -2, -1))


def _prepared(
    bench: Bench, name: str, shape: tuple[int, ...], axes: tuple[int, ...]
) -> Work[tuple[torch.Tensor, torch.Tensor]]:
    host = bench.rng(name).standard_normal(shape, dtype=np.float32)
    values = torch.from_numpy(host).to(bench.device)
    size = tuple(shape[axis] for axis in axes)

    def once(clock: StepClock) -> tuple[torch.Tensor, torch.Tensor]:
        with clock.step("forward"):
            transform = torch.fft.rfftn(values, dim=axes)
        with clock.step("inverse"):
            back = torch.fft.irfftn(transform, s=size, dim=axes)
        return transform, back

    def judge(result: tuple[torch.Tensor, torch.Tensor]) -> Judgement:
        transform, back = (tensor.cpu().numpy() for tensor in result)
        return Judgement(
            checksum=float(np.sqrt(np.mean(np.abs(transform) ** 2, dtype=np.float64))),
            error=float(np.abs(back - host).max() / np.abs(host).max()),
            tolerance=ROUND_TRIP_TOLERANCE,
        )

    return Work(once, judge)
