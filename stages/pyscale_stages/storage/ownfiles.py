"""Movies and particle stacks of the user's own, which are read where they are."""

from __future__ import annotations

import zlib
from pathlib import Path

import mrcfile
import numpy as np

from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.movieformats.codecs import HEADER_BYTES, MovieFormat
from pyscale_stages.storage.book import FileSet
from pyscale_stages.storage.reading import Piece, Reader
from pyscale_stages.storage.testfiles import Stack, checksums

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
