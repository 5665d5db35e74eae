"""Prepares torch: the device that was asked for, threads, seeds and reproducible kernels."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

from pyscale_stages.contract import Device
from pyscale_stages.errors import MissingPart

if TYPE_CHECKING:
    import torch

WAY_OUT = {
    "cuda": "run on a node with an NVIDIA GPU, its driver and a CUDA build of torch",
    "mps": "run on a Mac with Apple silicon",
}


def prepare(name: Device, *, threads: int, seed: int) -> torch.device:
    """Set torch up for a reproducible task and return a device that works.

    Parameters
    ----------
    name : {"cpu", "cuda", "mps"}
    threads : int
        Threads of torch and of OpenCV, which Cellpose resizes with.
    seed : int

    Raises
    ------
    MissingPart
        If the device cannot run a kernel.
    """
    import cv2
    import numpy as np
    import torch

    torch.set_num_threads(threads)
    cv2.setNumThreads(threads)
    torch.manual_seed(seed)
    # Cellpose draws from NumPy's global generator.
    np.random.seed(seed)  # noqa: NPY002
    # cuBLAS reads this when it is first used; without it, it may choose other kernels each time.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cudnn.benchmark = False
    # Not every kernel that Cellpose calls has a reproducible form: those only warn. The same
    # switch under its better known name imports torch's compiler, which takes over a second.
    torch.set_deterministic_debug_mode("warn")
    warnings.filterwarnings("ignore", message=".*does not have a deterministic implementation")
    # Cellpose's sparse tensors are sound; torch would print a warning until someone chooses.
    torch.sparse.check_sparse_tensor_invariants.disable()  # type: ignore[no-untyped-call]
    # The results do not depend on memory that was never written, so clearing it is wasted time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    device = torch.device(name)
    _refuse_unusable(device)
    return device


def _refuse_unusable(device: torch.device) -> None:
    """Run one small convolution there: that a device is listed does not prove that it works."""
    import torch

    if device.type == "cpu":
        return
    try:
        image = torch.ones((1, 1, 8, 8), device=device)
        float(torch.nn.functional.conv2d(image, image[:, :, :3, :3]).sum())
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise MissingPart(
            f"the device {device.type} was asked for and does not work here ({reason}): "
            f"{WAY_OUT[device.type]}, or ask for --device cpu"
        ) from error
