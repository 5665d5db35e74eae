"""The plain abilities of a device: allocation, launches, bandwidth, arithmetic, transforms."""

from __future__ import annotations

import math

import numpy as np
import torch

from pyscale_stages.kernels.params import KernelParams
from pyscale_stages.kernels.work import Bench, Judgement, StepClock, Work
from pyscale_stages.torchdevice import give_memory_back

TRIAD_SCALE = 3.0
PRODUCT_TOLERANCE = 1e-4
"""Single precision, sums of thousands of products of either sign."""
_SAMPLED = 4096
ROUND_TRIP_TOLERANCE = 1e-5
"""Single precision has steps of 6e-8, and errors grow with the logarithm of the size."""


def triad_bytes(params: KernelParams) -> float:
    """Bytes that the triad must move: two arrays read, one written (as STREAM counts them)."""
    return 3 * 4 * params.triad_elements


def product_flop(params: KernelParams) -> float:
    """A multiplication and an addition for each element of rows and columns."""
    return 2.0 * params.matrix_size**3


def prepare_allocation(bench: Bench) -> Work[tuple[float, float]]:
    """Take memory from the system, write all of it, and give it back."""
    n_bytes = bench.params.allocation_bytes

    def before() -> None:
        # What torch keeps from earlier would be handed out again without asking the driver.
        give_memory_back(bench.device)

    def once(clock: StepClock) -> tuple[float, float]:
        with clock.step("allocate", amount=n_bytes):
            memory = torch.empty(n_bytes, dtype=torch.uint8, device=bench.device)
        with clock.step("fill", amount=n_bytes):
            # The kernel gives a processor its pages at the first touch.
            memory.fill_(7)
        ends = float(memory[0]) + float(memory[-1])
        with clock.step("free"):
            size = float(memory.numel())
            del memory
            give_memory_back(bench.device)
        return size, ends

    def judge(result: tuple[float, float]) -> Judgement:
        size, ends = result
        return Judgement(checksum=size, error=abs(ends - 14) + abs(size - n_bytes), tolerance=0.0)

    return Work(once, judge, before)


def prepare_launches(bench: Bench) -> Work[float]:
    """The smallest kernel many times: launched in a row, and each waited for."""
    count = bench.params.launches

    def once(clock: StepClock) -> float:
        number = torch.zeros(1, device=bench.device)
        with clock.step("queued", amount=count, unit="launch"):
            for _ in range(count):
                number.add_(1.0)
        with clock.step("waited", amount=count, unit="launch"):
            for _ in range(count):
                number.add_(1.0)
                clock.wait()
        return float(number)

    def judge(result: float) -> Judgement:
        return Judgement(checksum=result, error=abs(result - 2.0 * count), tolerance=0.0)

    return Work(once, judge)


def prepare_triad(bench: Bench) -> Work[torch.Tensor]:
    """Compute a = b + s * c on arrays too large for a cache, as in McCalpin's STREAM."""
    n = bench.params.triad_elements
    rng = bench.rng("triad")
    b, c = (torch.from_numpy(rng.random(n, dtype=np.float32)).to(bench.device) for _ in "bc")
    a = torch.zeros_like(b)

    def once(_clock: StepClock) -> torch.Tensor:
        return torch.add(b, c, alpha=TRIAD_SCALE, out=a)

    def judge(result: torch.Tensor) -> Judgement:
        stride = max(1, n // _SAMPLED)
        got, of_b, of_c = (tensor[::stride].cpu().numpy() for tensor in (result, b, c))
        expected = of_b + np.float32(TRIAD_SCALE) * of_c
        return Judgement(
            checksum=float(got.mean(dtype=np.float64)),
            error=float(np.abs(got - expected).max()),
            tolerance=1e-6,
        )

    return Work(once, judge)


def prepare_product(bench: Bench) -> Work[torch.Tensor]:
    """Product of two square matrices in single precision, without shortened numbers."""
    n = bench.params.matrix_size
    rng = bench.rng("matrix_product")
    hosts = [rng.standard_normal((n, n), dtype=np.float32) for _ in "ab"]
    a, b = (torch.from_numpy(host).to(bench.device) for host in hosts)
    vector = rng.standard_normal(n)

    def once(_clock: StepClock) -> torch.Tensor:
        return a @ b

    def judge(result: torch.Tensor) -> Judgement:
        # C x = A (B x) for a random x only where C = A B (Freivalds 1977), for n^2 operations.
        got = result.cpu().numpy() @ vector
        expected = hosts[0] @ (hosts[1] @ vector)
        return Judgement(
            checksum=float(np.linalg.norm(got)),
            error=float(np.linalg.norm(got - expected) / np.linalg.norm(expected)),
            tolerance=PRODUCT_TOLERANCE,
        )

    return Work(once, judge)


def flop_of_real_pair(elements: int) -> float:
    """Operations of a real transform and its inverse, by the convention of FFTW's benchmarks."""
    # They count 2.5 N log2 N for a real transform, whatever the algorithm really does
    # (https://www.fftw.org/speed/method.html).
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
