"""The GPU that batches are copied to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pyscale_stages.contract import Device
from pyscale_stages.errors import BadInput
from pyscale_stages.loader.items import on_device
from pyscale_stages.torchdevice import require_working


def device_of(kind: Device) -> torch.device:
    """The device of a task, proven to work."""
    device = torch.device(kind)
    if kind != "cpu":
        # Also makes what torch keeps on a GPU, so that no timed copy pays for it.
        require_working(device)
    return device


def copy_to(device: torch.device) -> Callable[[Any], None]:
    """A function that copies every tensor of a batch and returns when the copies are there."""
    if device.type != "cuda":
        raise BadInput(
            f"to_device copies batches to a GPU, but this task runs on {device.type}: use "
            "--device cuda, or leave to_device out"
        )

    def copy(batch: Any) -> None:
        there = on_device(batch, device)
        torch.cuda.synchronize(device)
        del there

    return copy
