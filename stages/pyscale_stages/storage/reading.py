"""Reads files into one aligned buffer, through the page cache or past it.

Only the standard library is imported here: every reader process does it.
"""

from __future__ import annotations

import mmap
import os
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

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
