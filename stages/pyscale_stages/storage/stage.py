"""The storage stage: what the filesystem of a folder can do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pyscale_stages.contract import Device, Method, Resources, Stage, StageParams, Surroundings
from pyscale_stages.declaration import Image
from pyscale_stages.libraries import OF_EXTRA
from pyscale_stages.movieformats.codecs import CODECS, Camera, Codec, MovieFormat
from pyscale_stages.registry import later, place
from pyscale_stages.timing import TIMINGS, Timing

Mode = Literal["cold", "warm", "direct"]
Order = Literal["sequential", "random"]
Positive = Annotated[int, Field(ge=1)]

PUBLISHED_STACK_BYTES = 50_000 * 256**2 * 4
"""Of CryoSPARC's file system benchmark (its guide, "Performance Benchmarking")."""
LOWER = "lower particles, particle_files, movies or small_files"
"""What makes the test smaller, for sentences on room."""
PIXEL_BYTES = 4
"""Particles are float32."""
CODEC_OF: dict[MovieFormat, Codec] = {
    "tiff": CODECS["tiff_lzw"],
    "mrc": CODECS["mrc"],
    "eer": CODECS["eer"],
}
"""How movies of a format are written, as cameras of CryoSPARC's benchmark do."""
MOVIE_DOSE_PER_PX = 0.4
MRC_PIXEL_BYTES = 2
SMALL_FILE_BYTES = 8192
"""What a small file takes at least, with its name and attributes, on common filesystems."""


class StorageParams(StageParams):
    """What is written and read, and how often."""

    particles: int = Field(
        1_000, ge=1, description="Particles of the stack; with the defaults it has 0.26 GB"
    )
    particle_side_px: int = Field(256, ge=1, le=8192, description="Side of a square particle")
    particle_files: int = Field(10, ge=1, description="Files of the particle stack")
    cache_folder: Path | None = Field(
        None,
        description="Folder of a cache device, as a local SSD, that the stack is also copied to "
        "and read from; None takes the node's scratch folder (TMPDIR) where that lies on a disk "
        "with another filesystem",
    )
    own_data: Path | None = Field(
        None,
        description="Folder of movies (.tif, .eer, .mrc) and particle stacks (.mrcs) of your own, "
        "read in place and never written; their times stand beside those of the made files",
    )
    movie_formats: tuple[MovieFormat, ...] = Field(
        ("tiff", "mrc", "eer"), description="Formats of the movies"
    )
    movies: int = Field(3, ge=1, description="Movies of each format")
    movie_frames: int = Field(8, ge=1, description="Frames of a movie")
    movie_side_px: int = Field(
        2048, ge=64, le=16384, description="Height and width of a frame of a movie"
    )
    cameras: Mapping[MovieFormat, Camera] = Field(
        {},
        description="Sizes of movies of a format in place of the two above, as the suite "
        "system_as_published gives them",
    )
    small_files: int = Field(1_000, ge=1, description="Files of the metadata test")
    small_file_bytes: int = Field(4_096, ge=1, description="Size of each of them")
    readers: tuple[Positive, ...] = Field(
        (1, 2, 4), description="Numbers of processes that read the stack at once"
    )
    modes: tuple[Mode, ...] = Field(
        ("cold", "warm", "direct"),
        min_length=1,
        description="Reading of files: 'cold' after evicting them from this node's page cache, "
        "'warm' from it, 'direct' past it by O_DIRECT",
    )
    orders: tuple[Order, ...] = Field(
        ("sequential", "random"),
        min_length=1,
        description="Orders in which particles are read",
    )
    drop_caches: bool = Field(
        False,
        description="Before cold reads also `sync; echo 1 > /proc/sys/vm/drop_caches`, which "
        "empties the page cache of the whole node and needs root",
    )
    block_bytes: int = Field(
        1 << 20, ge=4096, multiple_of=4096, description="Bytes of a read call in sequential reads"
    )
    repeats: int = Field(3, ge=1, description="Repeats of each test")

    @model_validator(mode="after")
    def _enough_particles(self) -> StorageParams:
        if self.particle_files > self.particles:
            raise ValueError(
                f"{self.particles} particles cannot lie in {self.particle_files} files"
            )
        return self

    @property
    def particle_bytes(self) -> int:
        """Size of one particle."""
        return PIXEL_BYTES * self.particle_side_px**2

    @property
    def stack_bytes(self) -> int:
        """Size of all particles."""
        return self.particles * self.particle_bytes

    @property
    def scale_to_published(self) -> float:
        """Bytes of the stack divided by those of CryoSPARC's benchmark."""
        return self.stack_bytes / PUBLISHED_STACK_BYTES


def camera_of(params: StorageParams, kind: MovieFormat) -> Camera:
    """Size and dose of the movies of one format."""
    given = params.cameras.get(kind)
    return given or Camera(
        frames=params.movie_frames,
        height_px=params.movie_side_px,
        width_px=params.movie_side_px,
        dose_per_px=MOVIE_DOSE_PER_PX,
    )


def room_bytes(params: StorageParams) -> int:
    """Most that lies in the place at once."""
    small_bytes = params.small_files * max(params.small_file_bytes, SMALL_FILE_BYTES)
    # No movie is larger than its pixels of 16 bits.
    pixels = sum(camera_of(params, kind).pixels for kind in set(params.movie_formats))
    return params.stack_bytes + params.movies * pixels * MRC_PIXEL_BYTES + small_bytes


def method(_params: StorageParams, _device: Device) -> Method:
    """Reads and writes of files."""
    return Method("file system tests", packages=("imagecodecs",))


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
    merge=later("machine.timingtable", "merge"),
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
