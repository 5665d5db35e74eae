"""The files that are read: the stack, timed as it is written, movies, and the user's own."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mrcfile
import numpy as np
import numpy.typing as npt

from pyscale_stages.atomic import flush_to_disk
from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.movieformats.codecs import HEADER_BYTES, MovieFormat, counting_frames, write_mrc
from pyscale_stages.storage.reading import Piece, Reader
from pyscale_stages.storage.reads import FileSet, Stack, add, checksum
from pyscale_stages.storage.stage import CODEC_OF, StorageParams, camera_of
from pyscale_stages.task import Task

TEST = "particle_write"
FILE_NAME = "particles{}.mrc"
"""Of each file by its number."""
_BLOCK_BYTES = 1 << 20


def particles_of(seed: int, number: int, count: int, side_px: int) -> npt.NDArray[np.float32]:
    """Draw the normally distributed particles of one file, which no compression makes smaller."""
    rng = np.random.default_rng([seed, number])
    return rng.standard_normal((count, side_px, side_px), dtype=np.float32)


def write_stack(task: Task[StorageParams], folder: Path, repeat: int) -> Stack:
    """Write the stack as MRC files anew and time it: writing, and then flushing to storage."""
    params = task.params
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    files: list[Path] = []
    crc32: list[int] = []
    pieces: list[Piece] = []
    piece_crc32: list[int] = []
    write_s = flush_s = 0.0
    parts = np.array_split(np.arange(params.particles), params.particle_files)
    for number, part in enumerate(parts):
        path = folder / FILE_NAME.format(number)
        with task.span("compute"):
            particles = particles_of(task.spec.seed, number, len(part), params.particle_side_px)
        with task.span("write"):
            begin = time.perf_counter()
            write_mrc(path, particles)
            written = time.perf_counter()
            flush_to_disk(path)
            flush_s += time.perf_counter() - written
            write_s += written - begin
        with task.span("compute"):
            files.append(path)
            with path.open("rb") as file:
                header = file.read(HEADER_BYTES)
            # The file's checksum goes on from that of its header.
            crc32.append(zlib.crc32(particles.data.cast("B"), zlib.crc32(header)))
            piece_crc32 += [zlib.crc32(particle.data.cast("B")) for particle in particles]
            pieces += [
                Piece(number, HEADER_BYTES + index * params.particle_bytes, params.particle_bytes)
                for index in range(len(part))
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
    add(task, TEST, write_s + flush_s, **of_all, bottleneck="storage", details=details)
    add(task, TEST, write_s, **of_all, bottleneck="memory", step="write")
    add(task, TEST, flush_s, **of_all, bottleneck="storage", step="flush")
    return stack


def write_movies(task: Task[StorageParams], folder: Path, kind: MovieFormat) -> FileSet:
    """Write the movies of one format."""
    folder.mkdir()
    codec, camera = CODEC_OF[kind], camera_of(task.params, kind)
    files = tuple(
        folder / f"movie{number:03d}{codec.suffix}" for number in range(task.params.movies)
    )
    for number, path in enumerate(files):
        # Each movie is another one: a filesystem that finds equal files must find none.
        frames = counting_frames(camera, task.spec.seed + number)
        codec.write(path, map(codec.prepare, frames))
    return FileSet(folder, files, checksums(files))


def checksums(files: Iterable[Path]) -> tuple[int, ...]:
    """CRC-32 of each file, as it is now."""
    reader = Reader(_BLOCK_BYTES)
    return tuple(checksum(reader, path, _BLOCK_BYTES) for path in files)


OWN = "own_particle"
FORMATS: dict[str, MovieFormat] = {".tif": "tiff", ".tiff": "tiff", ".eer": "eer", ".mrc": "mrc"}
STACK = ".mrcs"


def own_files(folder: Path | None) -> tuple[dict[MovieFormat, FileSet], dict[str, Stack]]:
    """Movies of a folder by format, and its particle stacks as one, with checksums of what is read.

    Raises
    ------
    BadInput
        The folder has none of these, or a stack has no readable header.
    """
    if folder is None:
        return {}, {}
    folder = folder.expanduser()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    movies: dict[MovieFormat, list[Path]] = {}
    for path in files:
        if kind := FORMATS.get(path.suffix.lower()):
            movies.setdefault(kind, []).append(path)
    stacks = [path for path in files if path.suffix.lower() == STACK]
    if not movies and not stacks:
        raise BadInput(
            f"own_data {folder} holds no movie ({', '.join(FORMATS)}) and no particle stack "
            f"({STACK}): name a folder that does"
        )
    found = {kind: FileSet(folder, tuple(own), checksums(own)) for kind, own in movies.items()}
    return found, {OWN: _stack(folder, stacks)} if stacks else {}


def _stack(folder: Path, files: list[Path]) -> Stack:
    """The particles of all stacks, which must be of one size."""
    pieces = [piece for number, path in enumerate(files) for piece in _pieces(number, path)]
    lengths = {piece.length_bytes for piece in pieces}
    if len(lengths) > 1:
        raise BadInput(
            f"the stacks ({STACK}) of {folder} hold particles of several sizes: name one set"
        )
    crc32: list[int] = []
    reader = Reader(lengths.pop())
    reader.pick(files, pieces, lambda particle: crc32.append(zlib.crc32(particle)))
    return Stack(
        folder=folder,
        files=tuple(files),
        crc32=checksums(files),
        pieces=tuple(pieces),
        piece_crc32=np.array(crc32, np.uint32),
    )


def _pieces(number: int, path: Path) -> list[Piece]:
    try:
        with mrcfile.open(path, header_only=True, permissive=True) as file:
            header = file.header
            pixels = int(header.nx) * int(header.ny)
            length_bytes = pixels * mrcfile.utils.dtype_from_mode(int(header.mode)).itemsize
            start, count = HEADER_BYTES + int(header.nsymbt), int(header.nz)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{path} is not a readable MRC stack{said_by(error)}: copy it again"
        ) from error
    return [Piece(number, start + index * length_bytes, length_bytes) for index in range(count)]
