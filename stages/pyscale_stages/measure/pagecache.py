"""Page cache of the node that runs this: look, evict with proof, fill.

Only this node's page cache is seen. What a file server or a hypervisor keeps stays invisible,
and "cold" never means more than "absent from the memory of this node".
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.measure import residency as kernel
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.residency import CacheState, Residency

PAUSES_S = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16)
"""Pause before each round of eviction: pages come back while a read is under way."""
_WARM_CHUNK_BYTES = 1 << 20
Method = Literal["cachestat", "mincore", "preadv2", "none"]


class Eviction(Record):
    """What became of one file that was to be driven out of the page cache."""

    path: Path
    node: str = Field(description="Name of the node whose page cache this is")
    before: Residency
    after: Residency
    state: CacheState = Field(description="verified-cold only where no page was found afterwards")
    reason: str = Field("", description="Why it is not cold, or what the proof does not cover")


@dataclass(frozen=True)
class _OpenFile:
    """An open regular file and what its file system lets us know."""

    path: Path
    descriptor: int
    size_bytes: int
    owner: int
    magic: int
    device: int

    def residency(self, resident_bytes: int | None, method: Method, reason: str = "") -> Residency:
        if resident_bytes is not None:
            # The last page, and a large folio around it, reach beyond the end of the file.
            resident_bytes = min(resident_bytes, self.size_bytes)
        return Residency(
            path=self.path,
            size_bytes=self.size_bytes,
            resident_bytes=resident_bytes,
            method=method,
            reason=reason,
        )


class _Unusable(Exception):  # noqa: N818 - a reason, caught in this module
    """Why a path has no page cache to speak of."""


def probe(path: Path) -> Residency:
    """Say how much of a file lies in this node's page cache, without changing it."""
    # None with a reason where it cannot be known, also of what is not a file.
    return _told_of(path, _looked_at)


def state_of(residency: Residency) -> CacheState:
    """Name the state that a probe proves; one resident page is enough for warm."""
    if residency.resident_bytes is None:
        return "unsupported"
    # A sample without a resident page proves nothing of the other pages.
    if residency.resident_bytes == 0 and residency.method in {"cachestat", "mincore"}:
        return "verified-cold"
    return "warm" if residency.resident_bytes else "evicted-unverified"


def evict(path: Path) -> Eviction:
    """Drive one file out of the page cache and look whether it is gone; see `evict_all`."""
    return evict_all([path])[0]


def evict_all(paths: Iterable[Path]) -> tuple[Eviction, ...]:
    """Drive files out of this node's page cache and look whether they are gone, in their order."""
    # Files that are not gone get another round. Read permission is enough to evict, but not always
    # to prove it.
    files = [Path(path) for path in paths]
    done = [_evict_once(path) for path in files]
    for pause_s in PAUSES_S[1:]:
        again = [number for number, eviction in enumerate(done) if eviction.state == "warm"]
        if not again:
            break
        time.sleep(pause_s)
        for number in again:
            latest = _evict_once(files[number])
            # A later round finds what an earlier one left, not what was there at first.
            done[number] = latest.model_copy(update={"before": done[number].before})
    return tuple(done)


def warm(path: Path) -> Residency:
    """Read a file from end to end and say how much of it then lies in the page cache."""
    return _told_of(path, _read)


def _told_of(path: Path, look: Callable[[_OpenFile], Residency]) -> Residency:
    try:
        with _opened(path) as file:
            return look(file)
    except _Unusable as reason:
        return _unknown(path, str(reason))


def _read(file: _OpenFile) -> Residency:
    buffer = memoryview(bytearray(_WARM_CHUNK_BYTES))
    offset = 0
    try:
        while count := os.preadv(file.descriptor, [buffer], offset):
            offset += count
    except OSError as error:
        raise _Unusable(f"it cannot be read: {error.strerror}") from error
    return _looked_at(file)


def _evict_once(path: Path) -> Eviction:
    try:
        with _opened(path) as file:
            before = _sampled_if_unknown(file)
            _drop(file)
            after = _sampled_if_unknown(file)
            # Sampling has read pages in again.
            if after.method == "preadv2":
                _drop(file)
            return _judged(file, before, after)
    except _Unusable as reason:
        nothing = _unknown(path, str(reason))
        return Eviction(
            path=path,
            node=node_name(),
            before=nothing,
            after=nothing,
            state="unsupported",
            reason=str(reason),
        )


def _judged(file: _OpenFile, before: Residency, after: Residency) -> Eviction:
    """Name the state that an eviction reached, and no more than that."""
    state: CacheState
    reason = after.reason
    if in_memory := kernel.IN_MEMORY.get(file.magic):
        state, reason = "unsupported", f"{in_memory} keeps its files in memory, nowhere else"
    elif kernel.own_cache(file.magic):
        state = "unsupported"
    else:
        state = "evicted-unverified" if after.resident_bytes is None else state_of(after)
    if state == "warm":
        reason = (
            f"{after.resident_bytes} of {file.size_bytes} bytes stay in memory: another process "
            "maps or reads the file"
        )
    if state == "verified-cold" and (server := kernel.REMOTE.get(file.magic)):
        reason = f"cold on this node; the {server} server may still cache the file"
    return Eviction(
        path=file.path, node=node_name(), before=before, after=after, state=state, reason=reason
    )


def _looked_at(file: _OpenFile) -> Residency:
    """Ask whatever answers without touching the cache."""
    if unseen := kernel.unseen(file.magic, file.device):
        return file.residency(None, "none", unseen)
    found = kernel.by_cachestat(file.descriptor, file.magic)
    if found is not None:
        return file.residency(found, "cachestat")
    if kernel.mincore_is_honest(file.path, file.owner):
        found = kernel.by_mincore(file.descriptor, file.size_bytes)
        if found is not None:
            return file.residency(found, "mincore")
        return file.residency(None, "none", "the file cannot be mapped, so mincore cannot look")
    return file.residency(
        None, "none", "the kernel reports cached pages only to the file's owner or who may write it"
    )


def _sampled_if_unknown(file: _OpenFile) -> Residency:
    """Look, and where the kernel will not tell, sample; that reads in what it samples."""
    seen = _looked_at(file)
    if seen.resident_bytes is not None or kernel.unseen(file.magic, file.device):
        return seen
    try:
        estimate = kernel.by_sampling(file.descriptor, file.size_bytes)
    except OSError as error:
        raise _Unusable(f"it cannot be read: {error.strerror}") from error
    if estimate is None:
        return file.residency(
            None, "none", f"{seen.reason}, and this file system has no preadv2(RWF_NOWAIT)"
        )
    return file.residency(
        estimate,
        "preadv2",
        f"estimated from at most {kernel.SAMPLED_PAGES} pages, which proves nothing: {seen.reason}",
    )


def _drop(file: _OpenFile) -> None:
    if reason := kernel.TELLS_NOTHING:
        raise _Unusable(reason)
    try:
        # The kernel drops clean pages alone.
        os.fsync(file.descriptor)
        os.posix_fadvise(file.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        raise _Unusable(f"it cannot be flushed and dropped: {error.strerror}") from error


@contextmanager
def _opened(path: Path) -> Iterator[_OpenFile]:
    try:
        # A look at the kind comes first: opening a pipe would wait for its writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise _Unusable("it is not a regular file")
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _Unusable(f"it cannot be opened: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        yield _OpenFile(
            path=path,
            descriptor=descriptor,
            size_bytes=status.st_size,
            owner=status.st_uid,
            magic=kernel.filesystem_magic(descriptor),
            device=status.st_dev,
        )
    finally:
        os.close(descriptor)


def _unknown(path: Path, reason: str) -> Residency:
    try:
        size_bytes = path.stat().st_size
    except OSError:
        size_bytes = 0
    return Residency(
        path=path, size_bytes=size_bytes, resident_bytes=None, method="none", reason=reason
    )
