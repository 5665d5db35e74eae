"""Writes the movies that are decoded, and keeps what was written into them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.decompress.codecs import CODECS, CodecName
from pyscale_stages.movieformats.counting import Camera, counting_frames

Frame = npt.NDArray[Any]


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
    """Write a synthetic movie in one codec.

    Frames are drawn, noted and written one by one, so that no movie has to fit into memory.
    """
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


def sha256_of_movie(frames: Sequence[str]) -> str:
    """SHA-256 of the checksums of a movie's frames, in their order."""
    return hashlib.sha256("\n".join(frames).encode()).hexdigest()


def first_difference(movie: MovieFile, found: Sequence[str]) -> str:
    """Say where decoded frames are not those that were written; nothing where all are."""
    if len(found) != len(movie.sha256):
        return f"{len(found)} frames came back of {len(movie.sha256)}"
    for number, (written, decoded) in enumerate(zip(movie.sha256, found, strict=True)):
        if written != decoded:
            return f"frame {number} came back with other pixels than were written"
    return ""
