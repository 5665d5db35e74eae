"""Movies of electron cameras that are written to be read: MRC, TIFF and EER."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy.typing as npt

from pyscale_stages.movieformats.counting import PRESETS, Camera, counting_frames
from pyscale_stages.movieformats.eer import write_eer
from pyscale_stages.movieformats.mrc import write_mrc
from pyscale_stages.movieformats.tiff import write_tiff
from pyscale_stages.storage.book import Book, FileSet
from pyscale_stages.storage.params import MovieFormat, StorageParams
from pyscale_stages.storage.reading import Reader

CAMERA_OF: dict[MovieFormat, str] = {"tiff": "k3", "mrc": "k2", "eer": "falcon4"}
"""The camera whose movies come in a format, as in CryoSPARC's benchmark."""
SUFFIX_OF: dict[MovieFormat, str] = {"tiff": ".tif", "mrc": ".mrc", "eer": ".eer"}
LAPTOP_FRAMES, LAPTOP_SIDE_PX = 8, 2048
MRC_PIXEL_BYTES = 2
_BLOCK_BYTES = 1 << 20


def camera_of(params: StorageParams, kind: MovieFormat) -> Camera:
    """Size and dose of the movies of one format."""
    camera = PRESETS[CAMERA_OF[kind]]
    frames, side_px = params.movie_frames, params.movie_side_px
    if params.movie_set == "laptop":
        frames, side_px = frames or LAPTOP_FRAMES, side_px or LAPTOP_SIDE_PX
    changes: dict[str, int] = {}
    if frames is not None:
        changes["frames"] = frames
    if side_px is not None:
        changes |= {"height_px": side_px, "width_px": side_px}
    return camera.model_copy(update=changes)


def most_bytes(params: StorageParams) -> int:
    """What the movies need at most: none is larger than its pixels of 16 bits."""
    pixels = sum(camera_of(params, kind).pixels for kind in set(params.movie_formats))
    return params.movies * pixels * MRC_PIXEL_BYTES


def write_movies(book: Book, folder: Path, kind: MovieFormat) -> FileSet:
    """Write the movies of one format."""
    folder.mkdir()
    files = tuple(
        folder / f"movie{number:03d}{SUFFIX_OF[kind]}" for number in range(book.params.movies)
    )
    camera = camera_of(book.params, kind)
    for number, path in enumerate(files):
        # Each movie is another one: a filesystem that finds equal files must find none.
        _write(path, kind, counting_frames(camera, book.task.spec.seed + number))
    reader = Reader(_BLOCK_BYTES)
    return FileSet(folder, files, tuple(checksum(reader, path, _BLOCK_BYTES) for path in files))


def checksum(reader: Reader, path: Path, block_bytes: int) -> int:
    """CRC-32 of a file, read as the reader reads."""
    found = 0

    def take(block: memoryview) -> None:
        nonlocal found
        found = zlib.crc32(block, found)

    reader.stream(path, block_bytes, take)
    return found


def _write(path: Path, kind: MovieFormat, frames: Iterator[npt.NDArray[Any]]) -> None:
    if kind == "mrc":
        write_mrc(path, frames)
    elif kind == "tiff":
        write_tiff(path, frames)
    else:
        # The format has room for one electron on a pixel of a frame.
        write_eer(path, (frame.clip(max=1) for frame in frames))
