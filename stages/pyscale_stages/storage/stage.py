"""The storage stage: what the filesystem of a folder can do."""

from __future__ import annotations

from pyscale_stages.contract import Resources, Stage, Surroundings
from pyscale_stages.declaration import Image
from pyscale_stages.libraries import OF_EXTRA
from pyscale_stages.registry import later, place
from pyscale_stages.storage.params import StorageParams, method, room_bytes
from pyscale_stages.timing import TIMINGS, Timing


def surroundings(params: StorageParams) -> Surroundings:
    """The cache folder, which an image must be given to write into, and data to read."""
    cache, own = params.cache_folder, params.own_data
    return Surroundings(
        written=() if cache is None else (cache.expanduser(),),
        files=() if own is None else (own.expanduser(),),
    )


STAGE = Stage(
    name="storage",
    summary="Abilities of a filesystem: movies, particles, small files, many readers at once",
    params=StorageParams,
    inputs=(place("whose filesystem is measured"),),
    output=TIMINGS,
    packages=("imagecodecs",),
    samples=(Timing,),
    determinism=(
        "The same seed, parameters and versions of NumPy, tifffile and imagecodecs give the same "
        "files and the same checksums. Times differ"
    ),
    run=later("storage.run", "run"),
    merge=later("storage.run", "merge"),
    check=later("machine.timingtable", "check"),
    method=method,
    resources=Resources(cpus=1, memory_gib=2.0),
    surroundings=surroundings,
    room_bytes=room_bytes,
    extra="storage",
    image=Image(OF_EXTRA["storage"]),
    modules=("imagecodecs", "mrcfile", "tifffile", "polars"),
    folders=("machine", "movieformats"),
    work="each",
)
