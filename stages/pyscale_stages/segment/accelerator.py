"""What is asked of the device beside computing: to have finished, and what torch held of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def wait_for(device: torch.device) -> None:
    """Return when the device has done all that it was given.

    A CPU has when it answers; a GPU is given work and answers at once.
    """
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def held_bytes(device: torch.device) -> int | None:
    """Most memory of the device that torch has held for this process; None on a CPU.

    Of Apple's GPU torch tells what it holds now. It keeps what it once took, so that after a
    call this is the most of that call.
    """
    import torch

    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    if device.type == "mps":
        return torch.mps.driver_allocated_memory()
    return None
