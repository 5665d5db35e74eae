"""Checksums of files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

CHUNK_BYTES = 1 << 20


def sha256_of(path: Path, advance: Callable[[int], object] | None = None) -> str:
    """SHA-256 of a file of any size, a chunk in memory at a time.

    Parameters
    ----------
    path : Path
    advance : callable, optional
        Told the number of bytes of each chunk after it was read, as for a progress bar.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    digest = hashlib.sha256()
    # The chunks are large already: another buffer would only copy them.
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            if advance is not None:
                advance(len(chunk))
    return digest.hexdigest()
