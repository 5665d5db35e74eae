"""The devices that are tested: found, proven to work, waited for, and their memory given back."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence

import torch

from pyscale_stages.contract import Device
from pyscale_stages.errors import BadInput
from pyscale_stages.torchdevice import require_working

_NAMES: Mapping[str, str | None] = {"cpu": None, "mps": "Apple GPU"}


def devices(kind: Device, *, wanted: int | None, threads: int) -> list[torch.device]:
    """Devices of a kind, in the order that torch gives them."""
    torch.set_num_threads(threads)
    # Shortened numbers (TF32) are faster, and are not the single precision that is tested.
    torch.backends.cuda.matmul.allow_tf32 = False
    if kind != "cuda":
        if (wanted or 1) > 1:
            raise BadInput(
                f"gpus is {wanted}, but torch supports only one {kind} device: leave gpus out"
            )
        found = [torch.device(kind)]
    else:
        # At least one: trying it gives torch's own reason why there is none.
        n = max(1, torch.cuda.device_count())
        if (wanted or n) > n:
            raise BadInput(f"gpus is {wanted}, but torch sees {n}: use fewer")
        found = [torch.device("cuda", index) for index in range(wanted or n)]
    if kind != "cpu":
        for device in found:
            require_working(device)
    return found


def give_memory_back(device: torch.device) -> None:
    """Return to the driver what torch keeps for later."""
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


def forget(device: torch.device) -> None:
    """Leave the next test the memory of the last one, which cycles may still hold."""
    if device.type != "cpu":
        gc.collect()
        give_memory_back(device)


def names_of(found: Sequence[torch.device]) -> list[str | None]:
    """What devices are called, equal ones with their numbers; a processor is None."""
    names = [
        torch.cuda.get_device_name(device) if device.type == "cuda" else _NAMES[device.type]
        for device in found
    ]
    return [
        f"{name} #{device.index}" if name and names.count(name) > 1 else name
        for name, device in zip(names, found, strict=True)
    ]
