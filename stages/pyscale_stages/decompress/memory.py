"""Copies of files in memory, so that decoding is timed apart from reading."""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.measure.cgroups import usable_bytes
from pyscale_stages.measure.mounts import filesystem_of

SHARED_MEMORY = Path("/dev/shm")
BLOCK_BYTES = 4 << 20
"""Asked of the kernel by one read."""
_POPULATE = getattr(mmap, "MAP_POPULATE", 0)
"""Fills in the page table at once: faults would else be counted as decoding."""


@dataclass(frozen=True)
class Memory:
    """Room for one file."""

    buffer: mmap.mmap
    why_not_shared: str
    """Why it is memory of the process and no file in /dev/shm; nothing where it is one."""


@contextmanager
def memory_for(size_bytes: int, folder: Path = SHARED_MEMORY) -> Iterator[Memory]:
    """Yield room for a file in /dev/shm, or else in the process, with the reason.

    The file in /dev/shm has no name: nothing stays of it, however the process ends.
    """
    reason = _why_not(folder, size_bytes)
    if not reason:
        with TemporaryFile(dir=folder) as file:
            try:
                # Without pages of its own, writing to a full /dev/shm would kill the process.
                os.posix_fallocate(file.fileno(), 0, size_bytes)
            except OSError as error:
                reason = f"{folder} is full: {error.strerror}"
            else:
                flags = mmap.MAP_SHARED | _POPULATE
                yield Memory(mmap.mmap(file.fileno(), size_bytes, flags=flags), "")
                return
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _POPULATE
    yield Memory(mmap.mmap(-1, size_bytes, flags=flags), reason)


def read_into(buffer: mmap.mmap, path: Path) -> None:
    """Fill memory with the content of a file of exactly its size."""
    with path.open("rb", buffering=0) as file, memoryview(buffer) as view:
        done = 0
        while done < len(view):
            count = file.readinto(view[done : done + BLOCK_BYTES])
            if not count:
                raise BadInput(
                    f"{path} became shorter while it was read: check that nothing else writes it"
                )
            done += count


def need_memory(needed_bytes: int) -> None:
    """Refuse to begin what cannot end."""
    available = usable_bytes()
    if needed_bytes > available:
        raise ResourceExhausted(
            f"decoding needs {needed_bytes / 1e9:.3g} GB of memory, but {available / 1e9:.3g} GB "
            "are available: give the task more, or measure smaller or fewer frames"
        )


def _why_not(folder: Path, size_bytes: int) -> str:
    if not folder.is_dir():
        return f"{folder} does not exist"
    if not os.access(folder, os.W_OK):
        return f"{folder} is not writable"
    kind = filesystem_of(folder).fs_type
    if kind not in {"tmpfs", "ramfs"}:
        return f"{folder} is on {kind}, which does not keep its files in memory"
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < size_bytes:
        return (
            f"{folder} has {free_bytes / 1e6:.3g} MB free, and the movie needs "
            f"{size_bytes / 1e6:.3g} MB"
        )
    return ""
