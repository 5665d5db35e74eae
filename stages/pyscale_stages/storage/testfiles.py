"""The files that are read: the particle stack, timed as it is written, and movies of cameras."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.atomic import flush_to_disk
from pyscale_stages.movieformats.codecs import HEADER_BYTES, MovieFormat, counting_frames, write_mrc
from pyscale_stages.storage.book import Book, FileSet
from pyscale_stages.storage.reading import Piece, Reader
from pyscale_stages.storage.stage import CODEC_OF, StorageParams, camera_of

TEST = "particle_write"
FILE_NAME = "particles{}.mrc"
"""Of each file by its number."""
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Stack(FileSet):
    """A written particle stack."""

    pieces: tuple[Piece, ...]
    piece_crc32: npt.NDArray[np.uint32]


def particles_by_file(params: StorageParams) -> list[int]:
    """Spread the particles over the files as evenly as whole numbers allow."""
    parts = np.array_split(np.arange(params.particles), params.particle_files)
    return [len(part) for part in parts]


def particles_of(seed: int, number: int, count: int, side_px: int) -> npt.NDArray[np.float32]:
    """Draw the normally distributed particles of one file, which no compression makes smaller."""
    rng = np.random.default_rng([seed, number])
    return rng.standard_normal((count, side_px, side_px), dtype=np.float32)


def write_stack(book: Book, folder: Path, repeat: int) -> Stack:
    """Write the stack as MRC files anew and time it: writing, and then flushing to storage."""
    params = book.params
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    files: list[Path] = []
    crc32: list[int] = []
    pieces: list[Piece] = []
    piece_crc32: list[int] = []
    write_s = flush_s = 0.0
    for number, count in enumerate(particles_by_file(params)):
        path = folder / FILE_NAME.format(number)
        with book.task.span("compute"):
            particles = particles_of(book.task.spec.seed, number, count, params.particle_side_px)
        with book.task.span("write"):
            begin = time.perf_counter()
            write_mrc(path, particles)
            written = time.perf_counter()
            flush_to_disk(path)
            flush_s += time.perf_counter() - written
            write_s += written - begin
        with book.task.span("compute"):
            files.append(path)
            with path.open("rb") as file:
                header = file.read(HEADER_BYTES)
            # The file's checksum goes on from that of its header.
            crc32.append(zlib.crc32(particles.data.cast("B"), zlib.crc32(header)))
            piece_crc32 += [zlib.crc32(particle.data.cast("B")) for particle in particles]
            pieces += [
                Piece(number, HEADER_BYTES + index * params.particle_bytes, params.particle_bytes)
                for index in range(count)
            ]
    stack = Stack(
        folder=folder,
        files=tuple(files),
        crc32=tuple(crc32),
        pieces=tuple(pieces),
        piece_crc32=np.array(piece_crc32, np.uint32),
    )
    details = {
        "files": float(len(stack.files)),
        "particles": float(len(stack.pieces)),
        "particle_side_px": float(params.particle_side_px),
        "scale_to_published": params.scale_to_published,
        "checksum": float(zlib.crc32(np.array(stack.crc32, "<u4").tobytes())),
    }
    of_all: dict[str, Any] = {"repeat": repeat, "amount": stack.total_bytes, "unit": "B"}
    book.add(TEST, write_s + flush_s, **of_all, bottleneck="storage", details=details)
    book.add(TEST, write_s, **of_all, bottleneck="memory", step="write")
    book.add(TEST, flush_s, **of_all, bottleneck="storage", step="flush")
    return stack


def write_movies(book: Book, folder: Path, kind: MovieFormat) -> FileSet:
    """Write the movies of one format."""
    folder.mkdir()
    codec, camera = CODEC_OF[kind], camera_of(book.params, kind)
    files = tuple(
        folder / f"movie{number:03d}{codec.suffix}" for number in range(book.params.movies)
    )
    for number, path in enumerate(files):
        # Each movie is another one: a filesystem that finds equal files must find none.
        frames = counting_frames(camera, book.task.spec.seed + number)
        codec.write(path, map(codec.prepare, frames))
    return FileSet(folder, files, checksums(files))


def checksums(files: Iterable[Path]) -> tuple[int, ...]:
    """CRC-32 of each file, as it is now."""
    reader = Reader(_BLOCK_BYTES)
    return tuple(checksum(reader, path, _BLOCK_BYTES) for path in files)


def checksum(reader: Reader, path: Path, block_bytes: int) -> int:
    """CRC-32 of a file, read as the reader reads."""
    found = 0

    def take(block: memoryview) -> None:
        nonlocal found
        found = zlib.crc32(block, found)

    reader.stream(path, block_bytes, take)
    return found
