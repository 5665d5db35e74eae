"""Made-up movies of a counting electron camera, in the formats and codecs of movies."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.timing import Bottleneck

Frame = npt.NDArray[Any]
Frames = Iterable[Frame]
"""Frames of shape (Y, X), one by one; an array of shape (T, Y, X) is such a series too."""
HEADER_BYTES = 1024
_BLOCK_PX = 1 << 22
"""Pixels drawn at once, so that a frame of any size needs little more memory than itself."""


class Camera(Record):
    """Size of a movie and how many electrons it counts."""

    frames: int = Field(ge=1, description="Frames of the movie")
    height_px: int = Field(ge=1, description="Height of a frame in pixels")
    width_px: int = Field(ge=1, description="Width of a frame in pixels")
    dose_per_px: float = Field(
        ge=0, le=100, description="Mean number of electrons on a pixel of one frame"
    )

    @property
    def pixels(self) -> int:
        """Pixels of all frames."""
        return self.frames * self.height_px * self.width_px


def counting_frames(camera: Camera, seed: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Draw the frames (Y, X) of a movie one by one, as Poisson counts of electrons, at most 255."""
    for number in range(camera.frames):
        # Each frame has a stream of its own, so that a longer movie begins with the same frames.
        rng = np.random.default_rng([seed, number])
        frame = np.empty(camera.height_px * camera.width_px, np.uint8)
        for start in range(0, frame.size, _BLOCK_PX):
            block = frame[start : start + _BLOCK_PX]
            # A Poisson number of electrons spread evenly over pixels is a Poisson count in each.
            electrons = rng.poisson(camera.dose_per_px * block.size)
            hits = rng.integers(0, block.size, electrons, dtype=np.int32)
            block[:] = np.bincount(hits, minlength=block.size).clip(max=255)
        yield frame.reshape(camera.height_px, camera.width_px)


def write_mrc(path: Path, frames: Frames) -> None:
    """Write a movie as a stack of images; uint8 as uint16, because MRC has no unsigned byte."""
    import mrcfile

    frames = iter(frames)
    with mrcfile.new(path, next(frames)[np.newaxis], overwrite=True) as file:
        file.set_image_stack()
        # Statistics would be another pass over the pixels.
        file.reset_header_stats()
        # Its label holds the time: the same frames would give another checksum each time.
        file.header.label = b""
        file.header.nlabl = 0
        header, dtype = file.header.copy(), file.data.dtype
    # mrcfile writes a movie from memory alone, or into a map, where a full disk kills the process.
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        for frame in frames:
            file.write(frame.astype(dtype, copy=False).data)
            header.nz += 1
        file.seek(0)
        file.write(header.tobytes())


MovieFormat = Literal["mrc", "tiff", "eer"]
TiffCodec = Literal["none", "lzw", "zlib", "zstd", "jpeg2000"]
CodecName = Literal[
    "mrc", "tiff_none", "tiff_lzw", "tiff_zlib", "tiff_zstd", "tiff_jpeg2000", "eer"
]
Counts = npt.NDArray[np.uint8]


def write_tiff(path: Path, frames: Frames, codec: TiffCodec = "lzw") -> None:
    """Write a movie, each frame a page with one strip; every codec keeps the pixels exactly."""
    import tifffile

    # The reversible wavelet and no limit of quality: what comes back is what went in.
    lossless = {"level": 0, "reversible": True} if codec == "jpeg2000" else None
    # Offsets of 64 bits: how large the file becomes is not known before it is written.
    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        for frame in frames:
            writer.write(
                frame,
                photometric="minisblack",
                rowsperstrip=frame.shape[0],
                contiguous=False,
                metadata=None,
                software=False,
                maxworkers=1,
                compression=codec,
                compressionargs=lossless,
            )


# An EER file, the electron event representation of Falcon cameras, is a BigTIFF whose pages hold
# codes instead of pixels: how many pixels without an electron come next, and where inside its pixel
# the electron after them hit. A library that writes it does not exist; tifffile and imagecodecs
# read it. Sizes of the codes by the "EER file format documentation 3.0" (M. Leichsenring, Thermo
# Fisher Scientific, 2023).
EER = 65001
"""TIFF's number for codes of 7 bits for the run and 2 + 2 bits for the place in the pixel."""
RUN_BITS = 7
PLACE_BITS = 4
FULL_RUN = 2**RUN_BITS - 1
"""A run that goes on in the next code: no electron follows it."""
_METADATA_TAG = 65001
_UNDEFINED = 7
"""TIFF's type of bytes that mean nothing to TIFF."""


def write_eer(path: Path, frames: Frames) -> None:
    """Write a movie of electron events; more than one on a pixel of a frame is a `ValueError`."""
    import tifffile

    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        for number, frame in enumerate(frames):
            writer.write(
                iter([encode_events(frame)]),
                shape=frame.shape,
                dtype=np.uint8,
                photometric="minisblack",
                rowsperstrip=frame.shape[0],
                # tifffile takes encoded strips only with a codec that it could write itself.
                compression="zlib",
                contiguous=False,
                metadata=None,
                software=False,
                extratags=[(_METADATA_TAG, _UNDEFINED, None, _metadata(frame), True)]
                if number == 0
                else [],
            )
    with tifffile.TiffFile(path, mode="r+") as file:
        for page in file.pages:
            page.aspage().tags["Compression"].overwrite(EER)


def encode_events(frame: Frame) -> bytes:
    """Encode which pixels of a frame were hit, each in one quarter, in whole words of 16 bits."""
    if frame.max(initial=0) > 1:
        raise ValueError("EER holds at most one electron per pixel of a frame")
    hit = np.flatnonzero(frame)
    # After the last electron comes a last run, up to the end of the frame.
    runs = np.diff(hit, prepend=-1, append=frame.size) - 1
    full, rest = np.divmod(runs, FULL_RUN)
    # A run takes as many full codes as it needs, and one for the rest.
    ends = np.cumsum(full + 1) - 1
    codes = np.full(ends[-1] + 1, FULL_RUN, np.uint8)
    codes[ends] = rest
    lengths = np.full(codes.size, RUN_BITS, np.int64)
    # No electron, and so no place, follows the last run.
    lengths[ends[:-1]] += PLACE_BITS
    stops = np.cumsum(lengths)
    starts = stops - lengths
    bits = np.zeros(-(-int(stops[-1]) // 16) * 16, np.uint8)
    for bit in range(RUN_BITS):
        bits[starts + bit] = (codes >> bit) & 1
    return np.packbits(bits, bitorder="little").tobytes()


def _metadata(frame: Frame) -> bytes:
    height, width = frame.shape
    return (
        "<metadata>"
        f'<item name="sensorImageHeight" unit="pixel">{height}</item>'
        f'<item name="sensorImageWidth" unit="pixel">{width}</item>'
        "</metadata>"
    ).encode()


@dataclass(frozen=True)
class Codec:
    """How movies of one format and codec are written and read."""

    suffix: str
    write: Callable[[Path, Frames], None]
    format: MovieFormat
    bottleneck: Bottleneck = "cpu"
    """What the speed of decoding most likely depends on."""
    prepare: Callable[[Counts], npt.NDArray[Any]] = np.asarray
    """Counts as the format keeps them."""
    bytes_per_px: int = 1
    """Size of a decoded pixel."""
    most_bytes_per_px: int = 1
    """Most that a pixel takes in a file."""


def _tiff(codec: TiffCodec, bottleneck: Bottleneck = "cpu") -> Codec:
    return Codec(".tif", partial(write_tiff, codec=codec), format="tiff", bottleneck=bottleneck)


CODECS: dict[CodecName, Codec] = {
    # MRC has no unsigned byte.
    "mrc": Codec(
        ".mrc",
        write_mrc,
        format="mrc",
        bottleneck="memory",
        prepare=lambda counts: counts.astype(np.uint16),
        bytes_per_px=2,
        most_bytes_per_px=2,
    ),
    "tiff_none": _tiff("none", "memory"),
    "tiff_lzw": _tiff("lzw"),
    "tiff_zlib": _tiff("zlib"),
    "tiff_zstd": _tiff("zstd"),
    "tiff_jpeg2000": _tiff("jpeg2000"),
    "eer": Codec(
        ".eer",
        write_eer,
        format="eer",
        # It has room for one electron on a pixel of a frame.
        prepare=lambda counts: counts.clip(max=1),
        # An electron takes 11 bits.
        most_bytes_per_px=2,
    ),
}
assert tuple(CODECS) == get_args(CodecName)


@dataclass
class MovieFile:
    """One movie on disk, and checksums of its frames."""

    name: CodecName
    path: Path
    sha256: list[str] = field(default_factory=list)
    """Of the pixels of each frame, when it was written."""
    decoded_bytes: int = 0
    """Size of all frames."""

    @property
    def size_bytes(self) -> int:
        """Size of the file."""
        return self.path.stat().st_size


def write_movie_file(name: CodecName, camera: Camera, seed: int, folder: Path) -> MovieFile:
    """Write a synthetic movie in one codec, frame by frame: no movie has to fit into memory."""
    codec = CODECS[name]
    movie = MovieFile(name, folder / f"{name}{codec.suffix}")

    def noted() -> Iterator[Frame]:
        for counts in counting_frames(camera, seed):
            frame = codec.prepare(counts)
            movie.sha256.append(sha256_of_frame(frame))
            movie.decoded_bytes += frame.nbytes
            yield frame

    codec.write(movie.path, noted())
    return movie


def sha256_of_frame(frame: Frame) -> str:
    """SHA-256 of a frame's size, type and pixels."""
    # EER is decoded to truth values by some versions of the library, and to bytes by others.
    if frame.dtype == np.bool_:
        frame = frame.view(np.uint8)
    digest = hashlib.sha256(f"{frame.shape} {frame.dtype.str}".encode())
    digest.update(np.ascontiguousarray(frame).data.cast("B"))
    return digest.hexdigest()


def checksum_of(frames: Sequence[str]) -> float:
    """Checksum of the checksums of a movie's frames, of the 48 bits that a float keeps exactly."""
    return float(int(hashlib.sha256("\n".join(frames).encode()).hexdigest()[:12], 16))


def first_difference(movie: MovieFile, found: Sequence[str]) -> str:
    """Say where decoded frames are not those that were written; nothing where all are."""
    for number, (written, decoded) in enumerate(zip(movie.sha256, found, strict=True)):
        if written != decoded:
            return f"frame {number} came back with other pixels than were written"
    return ""
