"""Prepares torch: the device that was asked for, threads, seeds and reproducible kernels."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

import numpy as np

from pyscale_stages.contract import Device
from pyscale_stages.torchdevice import first_used

if TYPE_CHECKING:
    import torch


def prepare(name: Device, *, threads: int, seed: int) -> torch.device:
    """Set torch up for a reproducible task and return a device that works."""
    import cv2
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
    if name != "cpu":
        with first_used(device):
            image = torch.ones((1, 1, 8, 8), device=device)
            float(torch.nn.functional.conv2d(image, image[:, :, :3, :3]).sum())
    return device
