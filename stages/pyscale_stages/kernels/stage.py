"""The kernels stage: what the processors and GPUs of a machine compute in a second."""

from __future__ import annotations

from pyscale_stages.contract import Resources, Stage, Surroundings
from pyscale_stages.declaration import Image
from pyscale_stages.kernels.params import KernelParams, method
from pyscale_stages.libraries import OF_EXTRA, SCIPY
from pyscale_stages.registry import later, place
from pyscale_stages.timing import TIMINGS, Timing


def surroundings(params: KernelParams) -> Surroundings:
    """The cache folder, which an image must be given to write into."""
    cache = params.cache_folder
    return Surroundings(written=() if cache is None else (cache.expanduser(),))


STAGE = Stage(
    name="kernels",
    summary="Compute kernels of image processing: correlation, picking, projection",
    params=KernelParams,
    inputs=(place("on the storage that particles are read from"),),
    output=TIMINGS,
    packages=("torch", "scipy"),
    samples=(Timing,),
    determinism=(
        "The same seed gives the same inputs everywhere. Results are single precision: a test's "
        "checksums agree within 0.001, on one device and between devices; times differ"
    ),
    run=later("kernels.run", "run"),
    merge=later("machine.timingtable", "merge"),
    check=later("machine.timingtable", "check"),
    method=method,
    resources=Resources(cpus=2, memory_gib=4.0, devices=("cpu", "cuda")),
    extra="kernels",
    image=Image((*OF_EXTRA["kernels"], SCIPY), cuda=()),
    modules=("torch", "scipy.ndimage", "polars"),
    folders=("machine",),
    room_bytes=lambda params: params.particle_bytes,
    surroundings=surroundings,
    work="each",
)
