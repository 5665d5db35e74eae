"""Memory of a device: taken from its driver, filled and given back."""

from __future__ import annotations

import torch

from pyscale_stages.kernels.work import Bench, Judgement, StepClock, Work
from pyscale_stages.torchdevice import give_memory_back


def prepare(bench: Bench) -> Work[tuple[float, float]]:
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
