"""The OpenCL device of a task, and where its compiled kernels are kept."""

from __future__ import annotations

import atexit
import os
import tempfile
import warnings
from typing import Any

from pyscale_stages.contract import Device
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.libraries import how_to_install

OPENCL_TYPE: dict[Device, str] = {"cpu": "cpu", "cuda": "gpu"}
HOW_TO_GET: dict[Device, str] = {
    "cpu": "install PoCL and the loader, as in apt-get install ocl-icd-libopencl1 pocl-opencl-icd",
    "cuda": (
        "install the NVIDIA driver with its OpenCL library, and in a container (with --nv) a "
        "file /etc/OpenCL/vendors/nvidia.icd with the line libnvidia-opencl.so.1; or use "
        "--device cpu"
    ),
}


def keep_no_kernels() -> None:
    """Let this process build its kernels anew and leave none behind.

    Kernels in the home folder make the first task of a series seconds slower than the rest,
    and tasks that start at once write the same files, often on a shared filesystem. Both
    would be read as scaling. Call this before pyclesperanto is imported.
    """
    # PoCL keeps "uncached" builds in its cache folder for ever: the folder must be temporary.
    folder = tempfile.TemporaryDirectory(prefix="pyscale-kernels-")
    atexit.register(folder.cleanup)
    os.environ["POCL_CACHE_DIR"] = folder.name
    os.environ["CLESPERANTO_NO_CACHE"] = "1"
    os.environ["CUDA_CACHE_DISABLE"] = "1"


def import_pyclesperanto() -> None:
    """Import the library without its warning of a missing device; `select_device` says that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pyclesperanto  # noqa: F401


def select_device(wanted: Device) -> dict[str, str]:
    """Make the first OpenCL device of the wanted kind the one that kernels run on."""
    if wanted not in OPENCL_TYPE:
        raise BadInput(f"contact does not run on {wanted}: use --device cpu or --device cuda")
    import pyclesperanto as cle

    if "opencl" not in cle.list_available_backends():
        raise MissingPart(
            "contact needs the OpenCL part of pyclesperanto, which is not installed here: "
            f"{how_to_install('contact')}"
        )
    with warnings.catch_warnings():
        # pyclesperanto warns of what is said below as an error, with the way out.
        warnings.simplefilter("ignore")
        # Where there is no OpenCL platform at all, pyclesperanto has not even these functions.
        if not hasattr(cle, "list_available_devices"):
            raise _no_device(wanted)
        cle.select_backend("opencl")
        names = cle.list_available_devices(OPENCL_TYPE[wanted])
        devices = [cle.select_device(i, OPENCL_TYPE[wanted]) for i in range(len(names))]
        device = first_of_kind(wanted, devices)
        # Looking at each has made the last one current.
        cle.select_device(devices.index(device), OPENCL_TYPE[wanted])
    return {"opencl_device": device.name, "opencl_driver": _said(device, "Driver Version")}


def first_of_kind(wanted: Device, devices: list[Any]) -> Any:
    """Pick the first device that is what `wanted` means."""
    for device in devices:
        if wanted == "cpu" or "nvidia" in _said(device, "Vendor").lower():
            return device
    raise _no_device(wanted)


def _no_device(wanted: Device) -> MissingPart:
    kind = "processor" if wanted == "cpu" else "NVIDIA"
    return MissingPart(f"no {kind} OpenCL device found on this machine: {HOW_TO_GET[wanted]}")


def _said(device: Any, what: str) -> str:
    """Read one line of what a device says of itself."""
    for line in device.info.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == what:
            return str(value.strip())
    return "unknown"
