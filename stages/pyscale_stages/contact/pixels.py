"""Contacts, overlaps and centroids of a frame, by NumPy or on the OpenCL device of a task."""

from __future__ import annotations

import atexit
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.contact.labels import DenseLabels
from pyscale_stages.contract import Device
from pyscale_stages.errors import MissingPart, ResourceExhausted
from pyscale_stages.libraries import how_to_install
from pyscale_stages.truth.cells import centroids, count_contacts

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
    """Let this process build its kernels anew and leave none behind; before pyclesperanto's import.

    Kernels in the home folder make the first task of a series slower than the rest, and tasks that
    start at once write the same files: both would be read as scaling.
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


SHIFTS = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))
"""(dy, dx) from a pixel to itself and to its four neighbours."""
SUM_LIMIT = 2**31
"""The centroid kernel sums coordinates in signed 32-bit integers and wraps silently beyond."""
NO_ROOM = ("CL_INVALID_BUFFER_SIZE", "CL_MEM_OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_")
SMALLEST_CAPACITY = 256
LARGEST_CAPACITY = 4096
"""Labels of a frame that the device counts, in a matrix of 64 MiB: beyond it NumPy is faster."""
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Pairs of touching cells, each once, by places in the labels of their types: a, then b."""

    a: Counts
    b: Counts
    contact_px: Counts
    overlap_px: Counts


@dataclass(frozen=True)
class PixelMeasures:
    """What the pixels of one frame say: of the cells of the first type, then of the second's."""

    pairs: Pairs
    y_px: npt.NDArray[np.float64]
    x_px: npt.NDArray[np.float64]


def capacity_for(types: Sequence[DenseLabels]) -> int:
    """Number of labels that the kernels are built for, with background and the marker."""
    # Sizes of arrays are part of a kernel's source: in powers of two, few have to be compiled.
    n_cells = sum(len(cells.labels) for cells in types)
    return max(SMALLEST_CAPACITY, 1 << (n_cells + 1).bit_length())


def build_kernels(n_types: int, shape_yx: tuple[int, int], capacity: int) -> None:
    """Run every kernel once on empty images of the shape, for so many labels."""
    # The first call compiles, which belongs to `model_load`, and not to `compute` of some windows.
    empty = DenseLabels(
        labels=np.empty(0, np.uint32),
        area_px=np.empty(0, np.int64),
        image=np.zeros(shape_yx, np.uint32),
    )
    measure([empty] * n_types, capacity)


def fits_sums(cells: DenseLabels) -> npt.NDArray[np.bool_]:
    """Tell for each cell whether its coordinate sums surely fit the device's integers."""
    # No coordinate reaches the length of a side with the margin at both of its ends.
    return cells.area_px * (max(cells.image.shape) + 2) < SUM_LIMIT


def measure_by_numpy(types: Sequence[DenseLabels]) -> PixelMeasures:
    """Measure one frame on the processor, with the same counts as `measure`."""
    images = [cells.image for cells in types]
    a, b, contact_px, overlap_px = count_contacts(images).T
    points = np.concatenate([centroids(image) for image in images])
    return PixelMeasures(Pairs(a - 1, b - 1, contact_px, overlap_px), points[:, 1], points[:, 2])


def measure(types: Sequence[DenseLabels], capacity: int) -> PixelMeasures:
    """Measure one frame on the device.

    Two pixels touch where they are 4-neighbours. Of two types, a pixel also touches the pixel
    at its own place, so `contact_px` counts pairs (p in a, q in b) at city-block distance 0
    or 1. Counts are exact: the kernel adds integers atomically. It compares neighbours along
    y, x and z; two types are stacked along z with the second shifted by each step in turn, so
    that what it counts along z are the wanted pairs.
    """
    n_all = sum(len(cells.labels) for cells in types)
    with _exhaustion_explained(capacity):
        pairs = _pairs(types, capacity)
        points = _centroids(_stack(types, (0, 0), capacity), capacity)
    # Coordinates count from the margin of one pixel.
    x_px, y_px = points[:, 1 : n_all + 1].astype(np.float64) - 1
    return PixelMeasures(pairs, y_px, x_px)


@contextmanager
def _exhaustion_explained(capacity: int) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if not any(sign in str(error) for sign in NO_ROOM):
            raise
        raise ResourceExhausted(
            f"the OpenCL device has no memory for matrices of {capacity} x {capacity} labels: use "
            "a device with more memory, or crop"
        ) from error


def _pairs(types: Sequence[DenseLabels], capacity: int) -> Pairs:
    n_a, n_all = len(types[0].labels), sum(len(cells.labels) for cells in types)
    if len(types) == 1:
        contact = np.triu(_touching(_stack(types, (0, 0), capacity))[1 : n_all + 1, 1 : n_all + 1])
        overlap = np.zeros_like(contact)
    else:
        counts = [
            _touching(_stack(types, shift, capacity))[1 : n_a + 1, n_a + 1 : n_all + 1]
            for shift in SHIFTS
        ]
        contact, overlap = np.sum(counts, axis=0, dtype=np.uint32), counts[0]
    a, b = np.nonzero(contact)
    return Pairs(a, b, contact[a, b].astype(np.int64), overlap[a, b].astype(np.int64))


def _stack(
    types: Sequence[DenseLabels], shift: tuple[int, int], capacity: int
) -> npt.NDArray[np.uint32]:
    """Lay the images in a margin of one pixel, the last of two shifted, numbered throughout.

    The marker in the corner of the margin is the highest label that the capacity allows: it
    makes the size of every matrix the same in all frames. It meets only background, since
    no shift reaches a corner.
    """
    height, width = types[0].image.shape
    stack = np.zeros((len(types), height + 2, width + 2), dtype=np.uint32)
    first = types[0]
    stack[0, 1:-1, 1:-1] = first.image
    if len(types) == 2:
        dy, dx = shift
        # The shifted place holds what lies (dy, dx) further on.
        target = stack[1, 1 - dy : 1 - dy + height, 1 - dx : 1 - dx + width]
        np.add(types[1].image, len(first.labels), out=target, where=types[1].image > 0)
    stack[0, 0, 0] = capacity - 1
    return stack


def _touching(stack: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Symmetric matrix (capacity, capacity) of the pixel pairs between labels."""
    import pyclesperanto as cle

    return np.asarray(cle.generate_touching_area_matrix(stack))


def _centroids(stack: npt.NDArray[np.uint32], capacity: int) -> npt.NDArray[np.float32]:
    """Mean x and y of each label, shape (2, capacity)."""
    import pyclesperanto as cle

    # Without an array to fill, pyclesperanto 0.25.1 makes one that is a row high, writes
    # three rows and so destroys the heap.
    rows_xyz = cle.create((3, capacity), dtype=np.float32)
    cle.centroids_of_labels(stack, rows_xyz, include_background=True)
    return np.asarray(rows_xyz)[:2]
