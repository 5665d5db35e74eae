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
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    barrier = context.Barrier(len(shares))
    started: list[Any] = []
    pipes: list[Connection] = []
    try:
        for share in shares:
            here, there = context.Pipe(duplex=False)
            pipes.append(here)
            process = context.Process(
                target=_read_share,
                args=([str(path) for path in share], block_bytes, direct, barrier, there),
                daemon=True,
            )
            process.start()
            started.append(process)
            # A pipe ends when nobody holds this end: then the reader's own is the last.
            there.close()
        spans = _answers(pipes)
    finally:
        for process in started:
            process.terminate()
            process.join()
        for pipe in pipes:
            pipe.close()
    begins, ends, amounts = zip(*spans, strict=True)
    wall_s = max(ends) - min(begins)
    lasted_s = [end - begin for begin, end, _ in spans]
    return Read(
        wall_s,
        sum(amounts),
        {
            "block_bytes": block_bytes,
            "start_spread_s": max(begins) - min(begins),
            "overlap_s": max(0.0, min(ends) - max(begins)),
            "slowest_reader_s": max(lasted_s),
            "fastest_reader_s": min(lasted_s),
        },
    )


def _answers(pipes: Sequence[Connection]) -> list[tuple[float, float, int]]:
    """Hear every reader, and no longer than the first that fails."""
    spans: list[tuple[float, float, int]] = []
    silent = list(pipes)
    while silent:
        for pipe in wait(silent):
            assert isinstance(pipe, Connection)
            try:
                answer = pipe.recv()
            except EOFError:
                raise ReaderLost(
                    f"one of {len(pipes)} reader processes ended early: check that the task has "
                    "memory and processes enough for so many"
                ) from None
            if isinstance(answer, Exception):
                raise answer
            spans.append(answer)
            silent.remove(pipe)
    return spans


def _read_share(
    names: list[str], block_bytes: int, direct: bool, barrier: threading.Barrier, answer: Connection
) -> None:
    """Read files in a process of its own and answer begin, end and bytes."""
    # Ctrl-C reaches every process of a terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    paths = [Path(name) for name in names]
    try:
        reader = Reader(block_bytes, direct=direct)
        barrier.wait(BARRIER_S)
        begin = time.monotonic()
        amount = sum(reader.stream(path, block_bytes) for path in paths)
        answer.send((begin, time.monotonic(), amount))
    except threading.BrokenBarrierError:
        return  # an end without an answer says it
    except OSError as error:
        answer.send(error)
