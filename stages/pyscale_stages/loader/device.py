"""The GPU that batches are copied to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyscale_stages.contract import Device
from pyscale_stages.errors import BadInput, MissingPart, as_stage_error
from pyscale_stages.loader.items import on_device

if TYPE_CHECKING:
    import torch


def device_of(kind: Device) -> torch.device:
    """The device of a task, proven to work.

    Raises
    ------
    MissingPart
        If it does not.
    ResourceExhausted
        If its memory is full.
    """
    import torch

    device = torch.device(kind)
    if kind == "cpu":
        return device
    try:
        # Also makes what torch keeps on a GPU, so that no timed copy pays for it.
        float(torch.ones(8, device=device).sum())
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        if (exhausted := as_stage_error(error)) is not None:
            raise exhausted from error
        said = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise MissingPart(
            f"the device {kind} was asked for and does not work here ({said}): run on a node with "
            "an NVIDIA GPU, its driver and a CUDA build of torch, or ask for --device cpu"
        ) from error
    return device


def copy_to(device: torch.device) -> Callable[[Any], None]:
    """A function that copies every tensor of a batch and returns when the copies are there.

    Raises
    ------
    BadInput
        If the device has no memory of its own.
    """
    import torch

    if device.type != "cuda":
        raise BadInput(
            f"to_device copies batches to a GPU, and this task runs on {device.type}: ask for "
            "--device cuda, or leave to_device out"
        )

    def copy(batch: Any) -> None:
        there = on_device(batch, device)
        torch.cuda.synchronize(device)
        del there

    return copy


def name_of(device: torch.device) -> str:
    """What a device is called."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else "the processor"
