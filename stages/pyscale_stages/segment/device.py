"""Prepares torch: the device that was asked for, threads, seeds and reproducible kernels."""

from __future__ import annotations

import os
import re
import warnings
from typing import TYPE_CHECKING

from pyscale_stages.contract import Device
from pyscale_stages.errors import MissingPart, as_stage_error
from pyscale_stages.measure.gpus import cuda_version

if TYPE_CHECKING:
    import torch

WAY_OUT = {
    "cuda": "run on a node with an NVIDIA GPU, its driver and a CUDA build of torch",
    "mps": "run on a Mac with Apple silicon",
}
_DRIVER_TOO_OLD = ("driver on your system is too old", "CUDA driver version is insufficient")
_NO_KERNEL = "no kernel image is available for execution on the device"
_TAKEN = "CUDA-capable device(s) is/are busy or unavailable"
_BUILT_WITHOUT = ("Torch not compiled with CUDA enabled", "with arguments from the 'MPS' backend")


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
    ResourceExhausted
        If others have left none of its memory.
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
        if (exhausted := as_stage_error(error)) is not None:
            raise exhausted from error
        reason, remedy = why_unusable(device.type, str(error))
        raise MissingPart(
            f"the device {device.type} was asked for and does not work here ({reason}): "
            f"{remedy}, or ask for --device cpu"
        ) from error


def why_unusable(device: str, said: str) -> tuple[str, str]:
    """Why torch cannot compute on a device, and what to do about it.

    Parameters
    ----------
    device : {"cuda", "mps"}
    said : str
        What torch, or the CUDA library below it, said.

    Returns
    -------
    tuple of str
        Reason and remedy, both parts of a sentence.
    """
    import torch

    if any(text in said for text in _BUILT_WITHOUT):
        return f"torch {torch.__version__} is built without it", WAY_OUT[device]
    if any(text in said for text in _DRIVER_TOO_OLD):
        # As in "(found version 12040)", which is CUDA 12.4.
        found = re.search(r"found version (\d+)", said)
        driver = f"supports CUDA {cuda_version(int(found[1]))}" if found else "is too old"
        return (
            f"torch {torch.__version__} is built for CUDA {torch.version.cuda}, and the NVIDIA "
            f"driver {driver}",
            "update the driver, or install a torch built for a CUDA that the driver supports",
        )
    if _NO_KERNEL in said:
        major, minor = torch.cuda.get_device_capability(0)
        return (
            f"torch {torch.__version__} has no kernels for {torch.cuda.get_device_name(0)} of "
            f"compute capability {major}.{minor}, only for {' '.join(torch.cuda.get_arch_list())}",
            "install a torch built for this GPU, or take another GPU",
        )
    if _TAKEN in said:
        return (
            "another process has the GPU, which is set to serve one at a time",
            "let one worker use each GPU, share it by gpu_sharing = mps, or have the "
            "administrator set its compute mode to Default",
        )
    return said.partition("\n")[0].partition(". ")[0].rstrip("."), WAY_OUT[device]
