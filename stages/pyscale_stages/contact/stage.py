"""The contact stage: which cells touch, overlap and neighbour each other in each frame."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale_stages.contact import pixels
from pyscale_stages.contact.agreement import check
from pyscale_stages.contact.labels import DenseLabels, densify, open_labels, pieces, read_labels
from pyscale_stages.contact.pixels import HOW_TO_GET, LARGEST_CAPACITY
from pyscale_stages.contact.tables import Tables, frame_tables, joined, merge, write
from pyscale_stages.contract import Device, Method, Resources, Slot, Stage, StageParams
from pyscale_stages.declaration import Image, Needs
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.libraries import OF_EXTRA, SCIPY, ZARR
from pyscale_stages.movie import Movie
from pyscale_stages.task import Task


class ContactParams(StageParams):
    """How contacts are measured."""

    backend: Literal["auto", "numpy", "opencl"] = Field(
        "auto",
        description="What measures pixels: NumPy, or pyclesperanto on OpenCL; 'auto' is NumPy on a "
        "processor, which needs no kernels to be built, and OpenCL on a GPU",
    )

    def uses_opencl(self, device: Device) -> bool:
        """Whether pixels are measured by OpenCL on this kind of device; NumPy has only the CPU."""
        if self.backend == "numpy" and device != "cpu":
            raise BadInput(f"backend numpy does not run on {device}: use --device cpu")
        return self.backend == "opencl" or (self.backend == "auto" and device != "cpu")


def method(params: ContactParams, device: Device) -> Method:
    """What measures the pixels."""
    if not params.uses_opencl(device):
        return Method("NumPy", "touching pixels", versioned="numpy", packages=("numpy", "scipy"))
    return Method(
        "pyclesperanto",
        versioned="pyclesperanto",
        packages=("pyclesperanto",),
        cites=("haase2020",),
    )


_ASK_PLATFORMS = """
import ctypes, sys
number = ctypes.c_uint(0)
code = ctypes.CDLL(sys.argv[1]).clGetPlatformIDs(0, None, ctypes.byref(number))
print(number.value if code == 0 else 0)
"""


def _look(params: ContactParams, device: Device, here: bool) -> None:
    """Count OpenCL's platforms by the loader that pyclesperanto brings."""
    if not here or not params.uses_opencl(device):
        return
    spec = find_spec("pyclesperanto_opencl")
    if spec is None or spec.origin is None:
        return  # Another backend, or another way of packing it: the stage itself will say.
    libraries = Path(spec.origin).parent.with_name("pyclesperanto_opencl.libs")
    loaders = sorted(libraries.glob("libOpenCL*"))
    if not loaders:
        return
    asked = [sys.executable, "-S", "-c", _ASK_PLATFORMS, str(loaders[0])]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    if told.stdout.strip() == "0":
        raise MissingPart(f"no OpenCL device found on this machine: {HOW_TO_GET[device]}")


def run(task: Task[ContactParams]) -> None:
    """Measure every frame of the window and write contacts, cells and neighbours."""
    with task.span("read"):
        movies = open_labels(task)
        window = task.window(movies[0])
    on_device = task.params.uses_opencl(task.spec.device)
    with task.span("import"):
        import scipy.spatial  # noqa: F401 - the import is what is timed
        import tifffile  # noqa: F401

        if on_device:
            pixels.keep_no_kernels()
            pixels.import_pyclesperanto()
    if on_device:
        with task.span("model_load"):
            task.versions |= pixels.select_device(task.spec.device)
    tables = _measured(task, movies, window, on_device=on_device)
    if tables["cells"].is_empty():
        task.say_empty(movies, window)
    task.count(frames=window[1] - window[0], objects=len(tables["contacts"]))
    with task.span("write"):
        write(task, tables)
        task.write_window(window, movies[0].n_frames)


def _measured(
    task: Task, movies: tuple[Movie, ...], window: tuple[int, int], *, on_device: bool
) -> Tables:
    """Tables of the window, read and measured piece by piece."""
    built: set[int] = set()
    tables: list[Tables] = []
    ranges = list(pieces(movies, window))
    for start, stop in task.progress(ranges, len(ranges), "finding contacts"):
        with task.span("read"):
            frames = [read_labels(movie, start, stop) for movie in movies]
        with task.span("compute"):
            dense = [[densify(image) for image in images] for images in zip(*frames, strict=True)]
            cells = {
                frame: types
                for frame, types in enumerate(dense, start)
                if any(len(of_type.labels) for of_type in types)
            }
            for frame, types in cells.items():
                _refuse_masks(movies, frame, types)
            capacities = {
                frame: capacity
                for frame, types in cells.items()
                if on_device and (capacity := pixels.capacity_for(types)) <= LARGEST_CAPACITY
            }
        if on_device and len(capacities) < len(cells):
            said = f"frames of {LARGEST_CAPACITY} cells and more are measured by NumPy"
            task.warn(said, "crowded-frames", once=True)
        needed = set(capacities.values()) - built
        if needed:
            with task.span("model_load"):
                for capacity in sorted(needed):
                    pixels.build_kernels(len(movies), movies[0].shape_yx, capacity)
            built |= needed
        with task.span("compute"):
            for frame, types in cells.items():
                measures = (
                    pixels.measure(types, capacities[frame])
                    if frame in capacities
                    else pixels.measure_by_numpy(types)
                )
                tables.append(frame_tables(frame, types, measures))
    with task.span("compute"):
        return joined(tables)


def _refuse_masks(movies: tuple[Movie, ...], frame: int, types: list[DenseLabels]) -> None:
    """Refuse cells so large that the sums of coordinates of an OpenCL device would wrap."""
    for movie, cells in zip(movies, types, strict=True):
        if not pixels.fits_sums(cells).all():
            largest = int(cells.area_px.argmax())
            raise BadInput(
                f"label {cells.labels[largest]} in frame {frame} of {movie.path} covers "
                f"{cells.area_px[largest]} pixels and is probably a mask: give every cell its own "
                "label"
            )


STAGE = Stage(
    name="contact",
    summary="Touching, overlapping and neighbouring cells of one or two label movies",
    params=ContactParams,
    inputs=(
        Slot("labels", "label movie (TYX): every cell a whole number, 0 for background"),
        Slot(
            "other_labels",
            "label movie of a second cell type; then contacts are between the types",
            required=False,
        ),
    ),
    output="contacts.parquet",
    packages=("numpy", "scipy", "pyclesperanto", "pyclesperanto-opencl"),
    determinism=(
        "No randomness. Pixel counts are exact on every device. By NumPy, the same bytes; by "
        "OpenCL, centroids are float32: the same bytes on the same device and driver, within "
        "0.001 px otherwise, where equally near cells may swap places"
    ),
    run=run,
    merge=merge,
    check=check,
    method=method,
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda")),
    extra="contact",
    image=Image(
        (*OF_EXTRA["contact"], SCIPY, ZARR),
        debian=("ocl-icd-libopencl1", "pocl-opencl-icd"),
        imports=("polars", "pyclesperanto", "scipy", "tifffile"),
        # A GPU's driver comes with --nv, but not the file by which OpenCL finds it.
        after_install="echo libnvidia-opencl.so.1 >/etc/OpenCL/vendors/nvidia.icd",
    ),
    modules=("scipy.spatial.distance", "polars"),
    folders=("truth",),
    needs=Needs(
        of_choice={("backend", "opencl"): (("pyclesperanto", "scipy"), "contact")},
        deciding=("backend",),
        look=_look,
        try_out=lambda trying: trying.small(objects=2),
    ),
    judged_by="labels",
)
