"""Times one repeat of reading files: in a proved state, and with what was read compared."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import StageError
from pyscale_stages.machine.place import IN_MEMORY, warn_of_unproved
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.storage.book import (
    Case,
    FileSet,
    add,
    latency_details,
    prepare,
    resident_bytes,
)
from pyscale_stages.storage.reading import ALIGNMENT_BYTES, Piece, Reader
from pyscale_stages.storage.stage import StorageParams
from pyscale_stages.storage.testfiles import Stack, checksum
from pyscale_stages.task import Task


class DamagedRead(StageError):  # noqa: N818 - named for what it says
    """What was read is not what was written."""


@dataclass(frozen=True)
class Read:
    """One timed pass over files."""

    wall_s: float
    amount: int
    """Bytes that were asked for."""
    details: dict[str, float]


def timed_read(
    task: Task[StorageParams],
    case: Case,
    files: FileSet,
    read: Callable[[], Read | str],
    verify: Callable[[], int],
) -> None:
    """Bring files into a state, read them, compare what was read, and keep the timing."""
    # `verify` reads again in the same way, for a checksum: right after a read through the page
    # cache it sees the very pages that the timed read brought in.
    direct = case.mode == "direct"
    done: Read | str = why_not_direct(files.files[0]) if direct else ""
    if not done:
        with task.span("compute"):
            dropping = task.params.drop_caches
            proof = prepare(files.files, case.mode, drop_caches=dropping)
            if case.mode == "cold":
                warn_of_unproved(task, proof.files)
        with task.span("read"):
            done = read()
        if direct and proof.all_cold and resident_bytes(files.files) > 0:
            done = "the filesystem accepts O_DIRECT but still reads through the page cache"
    if isinstance(done, str):
        add(task, case.test, None, why_not=done, **case.timing)
        return
    with task.span("compute"):
        details = done.details | proof.details | {"checksum": float(verify())}
    read_of = {"amount": done.amount, "unit": "B", "cache": proof.state, "details": details}
    add(task, case.test, done.wall_s, **read_of, **case.timing)


def read_sequentially(task: Task[StorageParams], case: Case, files: FileSet) -> None:
    """Read files one after the other from end to end."""
    block_bytes = task.params.block_bytes
    reader = Reader(block_bytes, direct=case.mode == "direct")

    def read() -> Read:
        begin = time.perf_counter()
        amount = sum(reader.stream(path, block_bytes) for path in files.files)
        return Read(time.perf_counter() - begin, amount, {"block_bytes": float(block_bytes)})

    timed_read(task, case, files, read, lambda: verified(reader, files, block_bytes))


def read_at_random(task: Task[StorageParams], case: Case, stack: Stack) -> None:
    """Read every particle once, in an order drawn anew for each repeat."""
    length_bytes = stack.pieces[0].length_bytes
    order = random_order(task, case, stack)
    pieces = [stack.pieces[index] for index in order]
    reader = Reader(length_bytes, direct=case.mode == "direct")

    def read() -> Read:
        total_ns, latency_ns = reader.pick(stack.files, pieces)
        wall_s = total_ns / 1e9
        details = {
            "particles": float(len(pieces)),
            "block_bytes": float(length_bytes),
            "reads_per_s": len(pieces) / wall_s,
        }
        return Read(wall_s, len(pieces) * length_bytes, details | latency_details(latency_ns))

    def verify() -> int:
        found = np.zeros(len(pieces), np.uint32)
        taken = iter(order)

        def take(particle: memoryview) -> None:
            found[next(taken)] = zlib.crc32(particle)

        reader.pick(stack.files, pieces, take)
        _refuse_damage(stack, found, stack.piece_crc32, "particle")
        # In one byte order, so that the checksums of two machines compare.
        return zlib.crc32(found.astype("<u4").tobytes())

    timed_read(task, case, stack, read, verify)


def random_order(task: Task[StorageParams], case: Case, stack: Stack) -> npt.NDArray[np.int64]:
    """Order in which one repeat reads the particles, each once."""
    rng = np.random.default_rng([task.spec.seed, case.repeat])
    return rng.permutation(len(stack.pieces))


def verified(reader: Reader, files: FileSet, block_bytes: int) -> int:
    """Checksum of the checksums of files, after comparing each with what was written."""
    found = [checksum(reader, path, block_bytes) for path in files.files]
    _refuse_damage(files, found, files.crc32, "file")
    return zlib.crc32(np.array(found, "<u4").tobytes())


def _refuse_damage(files: FileSet, found: npt.ArrayLike, written: npt.ArrayLike, what: str) -> None:
    differ = np.asarray(found) != np.asarray(written)
    if differ.any():
        raise DamagedRead(
            f"{differ.sum()} of {differ.size} {what}s in {files.folder} differ from what was "
            f"written, the first is number {differ.argmax()}: do not trust this storage with data"
        )


def why_not_direct(path: Path) -> str:
    """Say why a file cannot be read past the page cache; empty where it can."""
    fs_type = filesystem_of(path).fs_type
    if fs_type in IN_MEMORY:
        return f"{fs_type} keeps its files in memory, so there is no cache to bypass"
    if not hasattr(os, "O_DIRECT"):
        return "this operating system has no O_DIRECT"
    try:
        Reader(ALIGNMENT_BYTES, direct=True).pick([path], [Piece(0, 0, 1)])
    except FileNotFoundError:
        # A file that is gone says nothing of O_DIRECT.
        raise
    except OSError as error:
        return f"the filesystem refuses O_DIRECT ({error.strerror})"
    return ""
