"""Memory of a device: copies between it and that of the host, and what its driver gives."""

from __future__ import annotations

from itertools import count, takewhile
from typing import Literal

import numpy as np
import torch

from pyscale_stages.kernels.stage import KernelParams
from pyscale_stages.kernels.work import Bench, Judgement, StepClock, Work
from pyscale_stages.torchdevice import give_memory_back

Direction = Literal["host_to_device", "device_to_host"]
SMALLEST_BYTES = 1 << 12
_AT_LEAST_BYTES = 1 << 24
_MOST_COPIES = 64
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def sizes(params: KernelParams) -> list[int]:
    """Sizes in bytes: from 4 KiB on by factors of four, and the largest that is allowed."""
    growing = (SMALLEST_BYTES * 4**step for step in count())
    return list(takewhile(lambda size: size <= params.transfer_max_bytes, growing))


def copies(size: int) -> int:
    """How often a size is copied: a small one takes no longer than a clock is read."""
    return max(1, min(_MOST_COPIES, _AT_LEAST_BYTES // size))


def label(size: int) -> str:
    """A size as a name, like 64KiB."""
    for of_unit, unit in _UNITS:
        if size >= of_unit:
            return f"{size // of_unit}{unit}"
    return f"{size}B"


def moved_bytes(params: KernelParams) -> float:
    """Bytes that all copies of a repeat move."""
    return float(sum(size * copies(size) for size in sizes(params)))


def prepare_transfer(bench: Bench, *, direction: Direction, pinned: bool) -> Work[torch.Tensor]:
    """Copy each size, many times if it is small, and wait after the last copy of a size."""
    n_most = sizes(bench.params)[-1]
    random = bench.rng("transfers").integers(0, 256, n_most, dtype=np.uint8)
    host = torch.empty(n_most, dtype=torch.uint8, pin_memory=pinned)
    device = torch.empty(n_most, dtype=torch.uint8, device=bench.device)
    source, target = (host, device) if direction == "host_to_device" else (device, host)
    source.copy_(torch.from_numpy(random))

    def before() -> None:
        target.zero_()

    def once(clock: StepClock) -> torch.Tensor:
        for size in sizes(bench.params):
            with clock.step(label(size), amount=size * copies(size)):
                for _ in range(copies(size)):
                    target[:size].copy_(source[:size], non_blocking=pinned)
        return target

    def judge(result: torch.Tensor) -> Judgement:
        got = result.cpu().numpy()
        return Judgement(
            checksum=float(got.sum(dtype=np.int64)),
            error=float(np.count_nonzero(got != random)),
            tolerance=0.0,
        )

    return Work(once, judge, before)


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
