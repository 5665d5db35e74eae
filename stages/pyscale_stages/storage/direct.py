"""Check for reads past the page cache by O_DIRECT, and their block size."""

from __future__ import annotations

import os
from pathlib import Path

from pyscale_stages.measure import pagecache
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.storage.reading import ALIGNMENT_BYTES, SMALLEST_BLOCK_BYTES, Piece, Reader

IN_MEMORY = {"tmpfs", "ramfs", "hugetlbfs"}


def why_not_direct(path: Path) -> str:
    """Say why a file cannot be read past the page cache; empty where it can."""
    fs_type = filesystem_of(path).fs_type
    if fs_type in IN_MEMORY:
        return f"{fs_type} keeps its files in memory, so there is no cache to bypass"
    if not hasattr(os, "O_DIRECT"):
        return "this operating system has no O_DIRECT"
    try:
        _read_block(path, ALIGNMENT_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        return f"the filesystem refuses O_DIRECT ({error.strerror})"
    return ""


def alignment_of(path: Path) -> int:
    """Find the size of blocks that a file can be read in directly: a sector's, or a page's.

    A filesystem whose blocks are larger refuses a sector, or reads it through the page cache
    without a word: a sector counts only where it leaves nothing there.
    """
    pagecache.evict(path)
    try:
        _read_block(path, SMALLEST_BLOCK_BYTES)
    except FileNotFoundError:
        raise
    except OSError:
        return ALIGNMENT_BYTES
    return ALIGNMENT_BYTES if pagecache.probe(path).resident_bytes else SMALLEST_BLOCK_BYTES


def _read_block(path: Path, block_bytes: int) -> None:
    # Not the first block, which is aligned to blocks of any size.
    inside = block_bytes if path.stat().st_size > block_bytes else 0
    reader = Reader(block_bytes, direct=True, alignment_bytes=block_bytes)
    reader.pick([path], [Piece(0, inside, 1)])
