"""The decompress stage: how fast this machine decodes movies of electron cameras."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, PositiveInt

from pyscale_stages.contract import Device, Method, Resources, Stage, StageParams
from pyscale_stages.declaration import Image
from pyscale_stages.libraries import OF_EXTRA
from pyscale_stages.movieformats.codecs import CODECS, Camera, CodecName, MovieFormat
from pyscale_stages.registry import later, place
from pyscale_stages.timing import TIMINGS, Timing


class DecompressParams(StageParams):
    """Which movies are decoded, and how often."""

    codecs: tuple[CodecName, ...] = Field(
        tuple(CODECS),
        min_length=1,
        description="Formats and codecs; mrc and tiff_none need no decoding: the control",
    )
    movies: int = Field(
        1, ge=1, description="Movies of each codec, each another one; a repeat decodes all of them"
    )
    frames: int = Field(
        16, ge=1, description="Frames of a movie; threads beyond the number of frames idle"
    )
    height_px: int = Field(1024, ge=32, description="Height of a frame in pixels")
    width_px: int = Field(1024, ge=32, description="Width of a frame in pixels")
    dose_per_px: float = Field(
        0.4, ge=0, le=100, description="Mean electrons per pixel of one frame"
    )
    cameras: Mapping[MovieFormat, Camera] = Field(
        {},
        description="Sizes of movies of a format (tiff, mrc or eer) in place of the four above, as "
        "the suite system_as_published gives them",
    )
    threads: tuple[PositiveInt, ...] = Field(
        (),
        description="Numbers of threads that decode at once; default: 1, 2, 4 and so on up to the "
        "task's threads",
    )
    repeats: int = Field(6, ge=1, description="Repeats of each decoding")

    def camera(self, codec: CodecName) -> Camera:
        """Size and dose of the movie that is written in a codec."""
        of_all = Camera(**{name: getattr(self, name) for name in Camera.model_fields})
        return self.cameras.get(CODECS[codec].format, of_all)

    def thread_counts(self, most: int) -> tuple[int, ...]:
        """Numbers of threads to try, where a task may use at most so many."""
        if self.threads:
            return tuple(sorted(set(self.threads)))
        powers = (2**power for power in range(most.bit_length()))
        return tuple(sorted({*powers, most}))


def room_bytes(params: DecompressParams) -> int:
    """Most that the files of all codecs need, also of those that this installation lacks."""
    return params.movies * sum(
        params.camera(name).pixels * CODECS[name].most_bytes_per_px for name in {*params.codecs}
    )


def method(params: DecompressParams, _device: Device) -> Method:
    """Decoding by imagecodecs."""
    return Method(
        "imagecodecs",
        "" if set(params.codecs) == set(CODECS) else ", ".join(params.codecs),
        versioned="imagecodecs",
        packages=("imagecodecs",),
        cites=("imagecodecs",),
    )


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
