"""Reads files in a proved state of the page cache, compares what was read, and keeps the times."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import StageError
from pyscale_stages.machine.place import IN_MEMORY, warn_of_unproved
from pyscale_stages.measure import pagecache
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.measure.pagecache import Eviction
from pyscale_stages.residency import LEAST_PROVED_FIRST, CacheState
from pyscale_stages.storage.reading import (
    ALIGNMENT_BYTES,
    Piece,
    Read,
    Reader,
    shares_of,
    together,
)
from pyscale_stages.storage.stage import Mode, StorageParams
from pyscale_stages.task import Task
from pyscale_stages.timing import Bottleneck, Timing

DROP_CACHES = Path("/proc/sys/vm/drop_caches")
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True)
class Proof:
    """State of every file that a test reads."""

    mode: Mode
    files: tuple[Eviction, ...]

    @property
    def state(self) -> CacheState | Literal["direct"]:
        """The least proved of the files' states; direct where the page cache is passed by."""
        if self.mode == "direct":
            return "direct"
        states = {file.state for file in self.files}
        if self.mode == "cold":
            return min(states, key=LEAST_PROVED_FIRST.index)
        # As with inputs: a file that is not kept in memory makes a test no warm one.
        return "warm" if states == {"warm"} else "unsupported"

    @property
    def all_cold(self) -> bool:
        """Whether nothing of any file is in the page cache, as far as can be proved."""
        return all(file.state == "verified-cold" for file in self.files)

    @property
    def details(self) -> dict[str, float]:
        """Counts of the proof, for a timing."""
        counts: dict[str, float] = {
            "files": len(self.files),
            "files_verified_cold": sum(file.state == "verified-cold" for file in self.files),
        }
        known = [file.after.resident_bytes for file in self.files]
        if None not in known:
            counts["resident_before_bytes"] = sum(found or 0 for found in known)
        return counts


def prepare(files: Sequence[Path], mode: Mode, *, drop_caches: bool = False) -> Proof:
    """Drive files out of the page cache, also for direct reads, or read them in; then look."""
    if mode == "warm":
        return Proof(mode, tuple(_warmed(path) for path in files))
    if drop_caches:
        os.sync()
        DROP_CACHES.write_text("1")
    return Proof(mode, pagecache.evict_all(files))


def resident_bytes(files: Sequence[Path]) -> int:
    """Bytes of files that are known to lie in the page cache."""
    return sum(pagecache.probe(path).resident_bytes or 0 for path in files)


def _warmed(path: Path) -> Eviction:
    before, after = pagecache.probe(path), pagecache.warm(path)
    kept: dict[str, Any] = {"before": before, "after": after, "state": pagecache.state_of(after)}
    return Eviction(path=path, node=node_name(), reason=after.reason, **kept)


def add(task: Task, test: str, wall_s: float | None, **more: Any) -> None:
    """Keep a timing; one without a time says in `why_not` why it cannot run here."""
    task.add_sample(Timing(test=test, wall_s=wall_s, **more))


@dataclass(frozen=True)
class Case:
    """One repeat of one test that reads files."""

    name: str
    mode: Mode
    repeat: int
    workers: int = 1

    @property
    def test(self) -> str:
        """Name in the record, which tells how files are read, and not what came of it."""
        return f"{self.name}_{self.mode}"

    @property
    def timing(self) -> dict[str, Any]:
        """What its timing says of it beside what came out."""
        bottleneck: Bottleneck = "memory" if self.mode == "warm" else "storage"
        return {"repeat": self.repeat, "workers": self.workers, "bottleneck": bottleneck}


@dataclass(frozen=True)
class FileSet:
    """Files that are read, and the checksums that say what was written into them."""

    folder: Path
    files: tuple[Path, ...]
    crc32: tuple[int, ...]

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(file.stat().st_size for file in self.files)


@dataclass(frozen=True)
class Stack(FileSet):
    """A written particle stack."""

    pieces: tuple[Piece, ...]
    piece_crc32: npt.NDArray[np.uint32]


def latency_details(latency_ns: Sequence[int]) -> dict[str, float]:
    """Give percentiles, mean and maximum in seconds."""
    # A percentile is a latency that was observed; it is left out where no sample lies beyond it.
    seconds = np.asarray(latency_ns) / 1e9
    details = {"latency_mean_s": float(seconds.mean()), "latency_max_s": float(seconds.max())}
    for name, share in QUANTILES.items():
        # Rounded, because 1000 * (1 - 0.999) is a little less than 1.
        if round(len(seconds) * (1 - share), 9) >= 1:
            found = np.quantile(seconds, share, method="inverted_cdf")
            details[f"latency_{name}_s"] = float(found)
    return details


class DamagedRead(StageError):  # noqa: N818 - named for what it says
    """What was read is not what was written."""


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


def read_in_parallel(task: Task[StorageParams], case: Case, files: FileSet) -> None:
    """Time one repeat of so many readers that share the files."""
    block_bytes = task.params.block_bytes
    direct = case.mode == "direct"

    def read() -> Read | str:
        if case.workers > len(files.files):
            return (
                f"{case.workers} readers cannot share {len(files.files)} files: "
                "raise particle_files"
            )
        return together(shares_of(files.files, case.workers), block_bytes, direct=direct)

    reader = Reader(block_bytes, direct=direct)
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


def checksum(reader: Reader, path: Path, block_bytes: int) -> int:
    """CRC-32 of a file, read as the reader reads."""
    found = 0

    def take(block: memoryview) -> None:
        nonlocal found
        found = zlib.crc32(block, found)

    reader.stream(path, block_bytes, take)
    return found


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
