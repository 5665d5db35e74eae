"""Movies of electron cameras that are written to be read: MRC, TIFF and EER."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy.typing as npt

from pyscale_stages.movieformats.counting import counting_frames
from pyscale_stages.movieformats.eer import write_eer
from pyscale_stages.movieformats.mrc import write_mrc
from pyscale_stages.movieformats.tiff import write_tiff
from pyscale_stages.storage.book import Book, FileSet
from pyscale_stages.storage.params import MovieFormat, camera_of
from pyscale_stages.storage.reading import Reader

SUFFIX_OF: dict[MovieFormat, str] = {"tiff": ".tif", "mrc": ".mrc", "eer": ".eer"}
_BLOCK_BYTES = 1 << 20


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
