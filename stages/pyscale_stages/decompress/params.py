"""Parameters of the decompress stage."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt

from pyscale_stages.contract import StageParams
from pyscale_stages.decompress.codecs import CODECS, CodecName
from pyscale_stages.movieformats.counting import PRESETS, Camera


class DecompressParams(StageParams):
    """Which movies are decoded, and how often."""

    codecs: tuple[CodecName, ...] = Field(
        tuple(CODECS),
        min_length=1,
        description="Formats and codecs; mrc and tiff_none need no decoding and are the control",
    )
    movie: Literal["given", "k3", "falcon4", "k2", "published"] = Field(
        "given",
        description=(
            "Size of the movies: 'given' by the next four parameters, or that of a camera in its "
            "true size, which needs gigabytes; 'published' gives each format the movie that the "
            "CryoSPARC benchmark has in it: TIFF that of a K3, EER of a Falcon 4, MRC of a K2"
        ),
    )
    frames: int = Field(16, ge=1, description="Frames of a movie; more threads than frames idle")
    height_px: int = Field(1024, ge=32, description="Height of a frame in pixels")
    width_px: int = Field(1024, ge=32, description="Width of a frame in pixels")
    dose_per_px: float = Field(
        0.4, ge=0, le=100, description="Mean number of electrons on a pixel of one frame"
    )
    threads: tuple[PositiveInt, ...] = Field(
        (),
        description=(
            "Numbers of threads that decode at once; none given is 1, 2, 4 and so on up to the "
            "threads that the task may use"
        ),
    )
    repeats: int = Field(6, ge=1, description="How often each decoding is timed")
    cold: bool = Field(
        True,
        description="Drive each file out of the page cache before it is read; else read it warm",
    )

    def camera(self, codec: CodecName) -> Camera:
        """Size and dose of the movie that is written in a codec."""
        if self.movie == "given":
            return Camera(
                frames=self.frames,
                height_px=self.height_px,
                width_px=self.width_px,
                dose_per_px=self.dose_per_px,
            )
        return PRESETS[CODECS[codec].camera if self.movie == "published" else self.movie]

    def thread_counts(self, most: int) -> tuple[int, ...]:
        """Numbers of threads to try, where a task may use at most so many."""
        if self.threads:
            return tuple(sorted(set(self.threads)))
        powers = (2**power for power in range(most.bit_length()))
        return tuple(sorted({*powers, most}))
