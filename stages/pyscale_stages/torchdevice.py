"""Devices that torch computes on: whether one works, why it does not, and what it is called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale_stages.errors import BadInput, MissingPart, as_stage_error, said_by, short

if TYPE_CHECKING:
    import torch

_WAY_OUT = {
    "cuda": "run on a node with a free NVIDIA GPU, its driver and a build of torch for both",
    "mps": "run on a Mac with Apple silicon",
}
_BUILT_WITHOUT = ("Torch not compiled with CUDA enabled", "with arguments from the 'MPS' backend")


def require_working(device: torch.device) -> None:
    """Compute one number there: that a device is listed does not prove that it works."""
    import torch

    with first_used(device):
        float(torch.ones(8, device=device).sum())


@contextmanager
def first_used(device: torch.device) -> Iterator[None]:
    """Tell in a sentence why a device does not work, where its first use in the block fails."""
    # It is a `MissingPart`, or `ResourceExhausted` where others have left none of its memory.
    import torch

    try:
        yield
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        if (exhausted := as_stage_error(error)) is not None:
            raise exhausted from error
        reason = short(error)
        if any(text in str(error) for text in _BUILT_WITHOUT):
            reason = f"torch {torch.__version__} is built without it"
        # Nobody asks for the first one by its number.
        name = device if device.index else device.type
        raise MissingPart(
            f"the device {name} does not work here ({reason}): {_WAY_OUT[device.type]}, or use "
            "--device cpu"
        ) from error


def name_of(device: torch.device) -> str:
    """What a device is called."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else "the processor"


def wait_for(device: torch.device) -> None:
    """Return when the device has done all that it was given, as a processor has when it answers."""
    if device.type == "cpu":
        return
    import torch

    if device.type == "mps":
        torch.mps.synchronize()
    else:
        torch.cuda.synchronize(device)


def held_bytes(device: torch.device) -> int | None:
    """Most memory of the device that torch has held for this process; None where it is not told."""
    import torch

    return torch.cuda.max_memory_reserved(device) if device.type == "cuda" else None


def give_memory_back(device: torch.device) -> None:
    """Return to the driver what torch keeps for later."""
    import torch

    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.empty_cache()


def read_weights(path: Path, remedy: str, *, mapped: bool = False) -> dict[str, Any]:
    """Read a network's weights on the CPU, executing nothing; `mapped` leaves them on the disk."""
    import torch

    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:  # pickle, zip and torch each have their own kinds
        raise BadInput(
            f"{path} is not readable as network weights{said_by(error)}: {remedy}, or copy this "
            "one again"
        ) from error
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise BadInput(f"{path} holds no network weights: {remedy}")
    return state


_OPERATORS = ("nms", "qnms")
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"

_declared: list[Any] = []
"""Declarations live as long as their object does."""


def make_torchvision_importable() -> None:
    """Import torchvision, with its operators declared where its own could not be loaded."""
    # Its wheels are built for CUDA. Beside a CPU torch their operators do not load, and the import
    # fails as it describes them. Cellpose 4 and DeepInverse need none: declaring them is enough.
    import torch

    try:
        import_module("torchvision")
    except RuntimeError as error:
        if torch.version.cuda is not None or "torchvision::" not in str(error):
            raise
    else:
        return
    library: Any = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for operator in _OPERATORS:
        library.define(operator + _SIGNATURE)
    _declared.append(library)
    # What the failed import left behind would be taken for the module.
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    import_module("torchvision")
