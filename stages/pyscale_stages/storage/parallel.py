"""Several readers at once, each a process with a share of the files.

Processes and no threads, because workers of a pipeline are processes, and because threads of one
interpreter take turns between two reads, which fast storage would feel. All wait at a barrier
with their buffers ready; the time is from the first start to the last end on the monotonic clock
that processes of one node share.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.errors import StageError
from pyscale_stages.storage.reading import Reader

if TYPE_CHECKING:
    from pyscale_stages.storage.book import Book, Case, FileSet
    from pyscale_stages.storage.reads import Read

BARRIER_S = 120.0
"""How long readers wait for each other before they say that one is missing."""


class ReaderLost(StageError):  # noqa: N818 - named for what it says
    """A reader process ended before it had read its share."""


def shares_of(files: Sequence[Path], readers: int) -> list[list[Path]]:
    """Give each reader neighbouring files, as evenly as whole files allow."""
    import numpy as np

    return [list(share) for share in np.array_split(np.array(files, object), readers)]


def read_in_parallel(book: Book, case: Case, files: FileSet) -> None:
    """Time one repeat of so many readers that share the files."""
    from pyscale_stages.storage.reads import timed_read, verified

    block_bytes = book.params.block_bytes
    direct = case.mode == "direct"

    def read() -> Read | str:
        if case.workers > len(files.files):
            return (
                f"{case.workers} readers cannot share {len(files.files)} files: "
                "raise particle_files"
            )
        return together(shares_of(files.files, case.workers), block_bytes, direct=direct)

    reader = Reader(block_bytes, direct=direct)
    timed_read(book, case, files, read, lambda: verified(reader, files, block_bytes))


def together(shares: Sequence[Sequence[Path]], block_bytes: int, *, direct: bool) -> Read:
    """Let one process read each share, all at once."""
    from pyscale_stages.storage.reads import Read

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
