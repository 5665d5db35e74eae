"""Reads files into one aligned buffer, through the page cache or past it, alone or several at once.

Only the standard library is imported here: every reader process does it.

Several readers are processes and no threads, because workers of a pipeline are processes, and
because threads of one interpreter take turns between two reads, which fast storage would feel. All
wait at a barrier with their buffers ready; the time is from the first start to the last end on the
monotonic clock that processes of one node share.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import signal
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyscale_stages.errors import StageError

ALIGNMENT_BYTES = 4096
"""Offsets, lengths and addresses of O_DIRECT are multiples of a disk's block, at most this."""
Take = Callable[[memoryview], object]


@dataclass(frozen=True)
class Piece:
    """One stretch of one file, like a particle of a stack."""

    file: int
    """Index into the files that it is read from."""
    offset_bytes: int
    length_bytes: int


@dataclass(frozen=True)
class Read:
    """One timed pass over files."""

    wall_s: float
    amount: int
    """Bytes that were asked for."""
    details: dict[str, float]


class Reader:
    """Reads by `preadv` into a touched and aligned buffer; `direct` by O_DIRECT."""

    def __init__(self, largest_bytes: int, *, direct: bool = False) -> None:
        # An anonymous map begins at a page, which bytearray does not. A shared one, which is
        # Python's choice, lies in a tmpfs, where direct reads end about a tenth later.
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        pages = mmap.mmap(-1, _up(largest_bytes) + 2 * ALIGNMENT_BYTES, flags=kind)
        # The kernel gives memory at the first touch: that must not be timed.
        pages.write(bytes(len(pages)))
        self._buffer = memoryview(pages)
        self._direct = direct

    def stream(self, path: Path, block_bytes: int, take: Take | None = None) -> int:
        """Read a file from end to end by blocks, and say its bytes; to `take` them takes time."""
        block = self._buffer[:block_bytes]
        blocks = [block]
        offset = 0
        with self._open(path) as descriptor:
            while count := os.preadv(descriptor, blocks, offset):
                if take is not None:
                    take(block[:count])
                offset += count
                if self._direct and count % ALIGNMENT_BYTES:
                    break  # the file's end: reading on from here would not be aligned
        return offset

    def pick(
        self, files: Sequence[Path], pieces: Sequence[Piece], take: Take | None = None
    ) -> tuple[int, array[int]]:
        """Read pieces in the given order, with every file open from the beginning."""
        latency_ns = array("q", bytes(8 * len(pieces)))
        with ExitStack() as stack:
            descriptors = [stack.enter_context(self._open(file)) for file in files]
            # What is read, and into which memory, is known before the clock starts.
            reads = [(descriptors[piece.file], *self._asked(piece)) for piece in pieces]
            preadv, clock = os.preadv, time.perf_counter_ns
            begin = before = clock()
            for number, (descriptor, start, into, lead, wanted) in enumerate(reads):
                got = preadv(descriptor, into, start)
                if got < wanted:
                    self._read_on(descriptor, start, into[0], got, wanted)
                now = clock()
                latency_ns[number] = now - before
                before = now
                if take is not None:
                    take(self._buffer[lead:wanted])
            return clock() - begin, latency_ns

    def _asked(self, piece: Piece) -> tuple[int, list[memoryview], int, int]:
        """Offset and memory of a read, and where in it the piece begins and ends."""
        if not self._direct:
            return piece.offset_bytes, [self._buffer[: piece.length_bytes]], 0, piece.length_bytes
        lead = piece.offset_bytes % ALIGNMENT_BYTES
        wanted = lead + piece.length_bytes
        whole = self._buffer[: _up(wanted)]
        return piece.offset_bytes - lead, [whole], lead, wanted

    def _read_on(
        self, descriptor: int, start: int, into: memoryview, got: int, wanted: int
    ) -> None:
        """Read what a read left out, as a signal can make it do."""
        while got < wanted:
            count = os.preadv(descriptor, [into[got:]], start + got)
            if not count:
                raise FileNotFoundError(2, "a test file is shorter than it was written")
            got += count

    @contextmanager
    def _open(self, path: Path) -> Iterator[int]:
        flags = os.O_RDONLY | os.O_CLOEXEC
        descriptor = os.open(path, flags | os.O_DIRECT if self._direct else flags)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _up(length_bytes: int) -> int:
    return -(-length_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


BARRIER_S = 120.0
"""How long readers wait for each other before they say that one is missing."""


class ReaderLost(StageError):  # noqa: N818 - named for what it says
    """A reader process ended before it had read its share."""


def shares_of(files: Sequence[Path], readers: int) -> list[list[Path]]:
    """Give each reader neighbouring files, as evenly as whole files allow."""
    import numpy as np

    return [list(share) for share in np.array_split(np.array(files, object), readers)]


def together(shares: Sequence[Sequence[Path]], block_bytes: int, *, direct: bool) -> Read:
    """Let one process read each share, all at once."""
    # Forked from a server that has nothing else in it: a fork of this process could inherit a
    # lock that one of its threads holds, and a new interpreter each time would take long.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    # No process gets two shares, because each waits for all others before it reads.
    barrier = context.Barrier(len(shares))
    read = partial(_read_share, block_bytes=block_bytes, direct=direct)
    try:
        with ProcessPoolExecutor(len(shares), context, _begin, (barrier,)) as pool:
            spans = list(pool.map(read, shares))
    except (BrokenProcessPool, threading.BrokenBarrierError) as error:
        raise ReaderLost(
            f"one of {len(shares)} reader processes ended early: check that the task has "
            "memory and processes enough for so many"
        ) from error
    begins, ends, amounts = zip(*spans, strict=True)
    lasted_s = [end - begin for begin, end, _ in spans]
    return Read(
        max(ends) - min(begins),
        sum(amounts),
        {
            "block_bytes": block_bytes,
            "start_spread_s": max(begins) - min(begins),
            "overlap_s": max(0.0, min(ends) - max(begins)),
            "slowest_reader_s": max(lasted_s),
            "fastest_reader_s": min(lasted_s),
        },
    )


_barriers: list[threading.Barrier] = []
"""Where a reader process meets the others: a barrier cannot be given with a share."""


def _begin(barrier: threading.Barrier) -> None:
    # Ctrl-C reaches every process of a terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _barriers.append(barrier)


def _read_share(paths: Sequence[Path], block_bytes: int, direct: bool) -> tuple[float, float, int]:
    """Read files in a process of its own: begin, end and bytes."""
    reader = Reader(block_bytes, direct=direct)
    _barriers[0].wait(BARRIER_S)
    begin = time.monotonic()
    amount = sum(reader.stream(path, block_bytes) for path in paths)
    return begin, time.monotonic(), amount
