"""The storage stage: what the filesystem of a folder can do."""

from __future__ import annotations

from functools import partial

from pyscale_stages.contract import Resources, Slot, Stage, Surroundings
from pyscale_stages.machine.joining import merge
from pyscale_stages.machine.timingtable import TIMINGS
from pyscale_stages.storage.agreement import check
from pyscale_stages.storage.params import StorageParams
from pyscale_stages.storage.residency import RESIDENCY
from pyscale_stages.storage.run import room_bytes, run


def surroundings(params: StorageParams) -> Surroundings:
    """The cache folder, which an image must be given to write into."""
    folder = params.cache_folder
    return Surroundings(written=() if folder is None else (folder.expanduser(),))


STAGE = Stage(
    name="storage",
    summary="What a filesystem can do: movies, particles, small files, many readers at once",
    params=StorageParams,
    inputs=(
        Slot(
            "place",
            "folder whose filesystem is measured; without it, that of the output",
            required=False,
            is_place=True,
        ),
    ),
    output=TIMINGS,
    packages=("imagecodecs",),
    determinism=(
        "What is written is the same for the same seed, parameters and versions of NumPy, "
        "tifffile and imagecodecs, and so are the checksums of what is read. Times never are"
    ),
    run=run,
    merge=partial(merge, others=(RESIDENCY,)),
    check=check,
    resources=Resources(cpus=1, memory_gib=2.0),
    surroundings=surroundings,
    room_bytes=room_bytes,
    extra="storage",
)
