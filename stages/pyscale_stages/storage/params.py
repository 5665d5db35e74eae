"""Parameters of the storage stage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pyscale_stages.contract import Device, Method, StageParams
from pyscale_stages.movieformats.codecs import CODECS, Codec
from pyscale_stages.movieformats.counting import PRESETS as CAMERAS
from pyscale_stages.movieformats.counting import Camera

Mode = Literal["cold", "warm", "direct"]
MovieFormat = Literal["mrc", "tiff", "eer"]
Positive = Annotated[int, Field(ge=1)]

PRESETS: dict[str, tuple[int, int, int]] = {
    "laptop": (1_000, 256, 10),
    "published": (50_000, 256, 500),
}
"""Particles, side in pixels and number of files.

`published` is the stack of CryoSPARC's file system benchmark (its guide, "Performance
Benchmarking"): 13 GB. Both have 100 particles in a file.
"""
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
LAPTOP_FRAMES, LAPTOP_SIDE_PX = 8, 2048
MRC_PIXEL_BYTES = 2
SMALL_FILE_BYTES = 8192
"""What a small file takes at least, with its name and attributes, on common filesystems."""


class StorageParams(StageParams):
    """What is written and read, and how often."""

    stack: Literal["laptop", "published"] = Field(
        "laptop",
        description="Size of the particle stack: 'laptop' is 1000 particles of 256 px in 10 files "
        "(0.26 GB), 'published' 50000 in 500 files (13 GB)",
    )
    particles: int | None = Field(
        None, ge=1, description="Number of particles; None uses the preset's"
    )
    particle_side_px: int | None = Field(
        None, ge=1, le=8192, description="Side of a square particle; None uses the preset's"
    )
    particle_files: int | None = Field(
        None, ge=1, description="Files of the particle stack; None uses the preset's number"
    )
    cache_folder: Path | None = Field(
        None,
        description="Folder, often of a local SSD, that the stack is also copied to and read from; "
        "None omits that test",
    )
    movie_formats: tuple[MovieFormat, ...] = Field(
        ("tiff", "mrc", "eer"), description="Formats of the movies"
    )
    movies: int = Field(3, ge=1, description="Movies of each format")
    movie_set: Literal["laptop", "published"] = Field(
        "laptop",
        description="Size of the movies: 'laptop' is 8 frames of 2048 px, 'published' the true "
        "sizes of the K3 (TIFF), K2 (MRC) and Falcon 4 (EER), about 1 GB each",
    )
    movie_frames: int | None = Field(
        None, ge=1, description="Frames of a movie; None uses the set's number"
    )
    movie_side_px: int | None = Field(
        None, ge=64, le=16384, description="Height and width of a frame; None uses the set's"
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
    block_bytes: int = Field(
        1 << 20, ge=4096, multiple_of=4096, description="Bytes of a read call in sequential reads"
    )
    repeats: int = Field(3, ge=1, description="Repeats of each test")
    fio: bool = Field(True, description="Also measure by fio, where it is installed")

    @model_validator(mode="after")
    def _enough_particles(self) -> StorageParams:
        particles, _, files = self.shape
        if files > particles:
            raise ValueError(f"{particles} particles cannot lie in {files} files")
        return self

    @property
    def shape(self) -> tuple[int, int, int]:
        """Particles, side in pixels and number of files of the stack."""
        particles, side_px, files = PRESETS[self.stack]
        return (
            self.particles or particles,
            self.particle_side_px or side_px,
            self.particle_files or files,
        )

    @property
    def particle_bytes(self) -> int:
        """Size of one particle."""
        return PIXEL_BYTES * self.shape[1] ** 2

    @property
    def stack_bytes(self) -> int:
        """Size of all particles."""
        return self.shape[0] * self.particle_bytes

    @property
    def scale_to_published(self) -> float:
        """Bytes of the stack divided by those of CryoSPARC's benchmark."""
        particles, side_px, _ = PRESETS["published"]
        return self.stack_bytes / (particles * side_px**2 * PIXEL_BYTES)


def camera_of(params: StorageParams, kind: MovieFormat) -> Camera:
    """Size and dose of the movies of one format."""
    camera = CAMERAS[CODEC_OF[kind].camera]
    frames, side_px = params.movie_frames, params.movie_side_px
    if params.movie_set == "laptop":
        frames, side_px = frames or LAPTOP_FRAMES, side_px or LAPTOP_SIDE_PX
    sizes = {"frames": frames, "height_px": side_px, "width_px": side_px}
    return camera.model_copy(update={name: n for name, n in sizes.items() if n is not None})


def most_bytes(params: StorageParams) -> int:
    """What the movies need at most: none is larger than its pixels of 16 bits."""
    pixels = sum(camera_of(params, kind).pixels for kind in set(params.movie_formats))
    return params.movies * pixels * MRC_PIXEL_BYTES


def room_bytes(params: StorageParams) -> int:
    """Most that lies in the place at once."""
    small_bytes = params.small_files * max(params.small_file_bytes, SMALL_FILE_BYTES)
    return params.stack_bytes + most_bytes(params) + small_bytes


def method(params: StorageParams, _device: Device) -> Method:
    """Reads and writes of files; fio's where it is installed."""
    return Method("file system tests", f"stack {params.stack}", packages=("imagecodecs",))
