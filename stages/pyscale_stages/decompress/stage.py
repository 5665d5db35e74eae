"""The decompress stage: how fast this machine decodes movies of electron cameras."""

from __future__ import annotations

from pyscale_stages.contract import Resources, Stage
from pyscale_stages.declaration import Image
from pyscale_stages.decompress.params import DecompressParams, method, room_bytes
from pyscale_stages.libraries import OF_EXTRA
from pyscale_stages.registry import later, place
from pyscale_stages.timing import TIMINGS, Timing

STAGE = Stage(
    name="decompress",
    summary="Reading and decoding of movies in TIFF, EER and MRC, timed apart",
    params=DecompressParams,
    inputs=(place("on the storage that movies are written to and read from"),),
    output=TIMINGS,
    packages=("imagecodecs",),
    samples=(Timing,),
    determinism=(
        "The same seed gives the same frames, and every codec keeps them exactly: checksums of "
        "decoded frames are the same on every machine. Times differ"
    ),
    run=later("decompress.run", "run"),
    merge=later("machine.timingtable", "merge"),
    check=later("machine.timingtable", "check"),
    method=method,
    resources=Resources(cpus=4, memory_gib=4.0, devices=("cpu",)),
    extra="decompress",
    image=Image(OF_EXTRA["decompress"]),
    modules=("imagecodecs", "mrcfile", "tifffile", "polars"),
    folders=("machine", "movieformats"),
    room_bytes=room_bytes,
    work="each",
)
