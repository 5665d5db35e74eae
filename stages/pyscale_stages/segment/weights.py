"""Weights files, and the Cellpose version that each is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from pyscale_stages.errors import BadInput

State = dict[str, "torch.Tensor"]


def read_state(path: Path, *, mapped: bool = False) -> State:
    """Read a file of network weights on the CPU; nothing in it is executed.

    `mapped`: leave the values on the disk until they are used; only for files of over a gigabyte.
    """
    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:  # pickle, zip and torch each have their own kinds
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise BadInput(
            f"{path} is not readable as network weights ({type(error).__name__}: {reason}): name "
            "a weights file of Cellpose, or copy this one again"
        ) from error
    if not isinstance(state, dict):
        raise BadInput(f"{path} holds no network weights: name a weights file of Cellpose")
    return state


def cellpose_of_state(path: Path, state: State) -> int:
    """Major version of Cellpose whose network has these weights."""
    # Cellpose tells them apart by the same key: the readout that only version 4 has.
    if "W2" in state:
        return 4
    if "output.2.weight" in state:
        return 3
    raise BadInput(f"{path} holds weights of another network: name a weights file of Cellpose")
