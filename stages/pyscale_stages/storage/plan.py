"""The tests of the stage, and their order in one repeat."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pyscale_stages.atomic import flush_to_disk
from pyscale_stages.machine.place import in_words
from pyscale_stages.storage.book import Book, Case, FileSet, prepare
from pyscale_stages.storage.fio import fio_at_random, fio_sequentially
from pyscale_stages.storage.metadata import measure_metadata
from pyscale_stages.storage.parallel import read_in_parallel
from pyscale_stages.storage.params import LOWER, Mode, MovieFormat
from pyscale_stages.storage.reading import Reader
from pyscale_stages.storage.reads import read_at_random, read_sequentially, verified
from pyscale_stages.storage.testfiles import Stack, write_stack

NO_CACHE = "no cache_folder was given under stages.storage"
Once = Callable[[int], None]
"""Does one repeat of a test; it is told which."""
COPY = "particle_cache_copy"


@dataclass
class Bench:
    """What the tests of a task work on."""

    book: Book
    folder: Path
    """Work folder in the measured place."""
    cache: Path | None
    """Work folder in the cache folder."""
    movies: dict[MovieFormat, FileSet]
    stacks: dict[str, Stack] = field(default_factory=dict)
    """The stack of this repeat: as `particle` in the place, as `cache` its copy."""

    def write(self, repeat: int) -> None:
        """Write the stack anew."""
        self.stacks["particle"] = write_stack(self.book, self.folder / "stack", repeat)

    def copy(self, repeat: int) -> None:
        """Copy the stack to the cache folder."""
        if self.cache is None:
            self.book.add(COPY, None, repeat=repeat, why_not=NO_CACHE, bottleneck="storage")
            return
        original = self.stacks["particle"]
        with in_words(self.cache.parent, LOWER):
            self.stacks["cache"] = copy_stack(self.book, original, self.cache / "stack", repeat)


def tests_of(bench: Bench, repeat: int) -> list[Once]:
    """List the tests of one repeat: writing and copying, then all that reads, in a drawn order.

    Each test prepares the state of the page cache that it wants, so that none depends on what
    came before. The order is drawn so that what else the machine does hits no test in each
    repeat.
    """
    others = [*_others(bench)]
    rng = np.random.default_rng([bench.book.task.spec.seed, repeat])
    return [bench.write, bench.copy, *(others[index] for index in rng.permutation(len(others)))]


def _others(bench: Bench) -> Iterator[Once]:
    params = bench.book.params
    yield lambda repeat: measure_metadata(bench.book, bench.folder / "small", repeat)
    for mode in params.modes:
        for kind, files in bench.movies.items():
            yield _movies(bench, mode, kind, files)
        yield _stack(bench, read_sequentially, "particle_sequential_read", mode)
        yield _stack(bench, read_at_random, "particle_random_read", mode)
        if bench.cache is not None:
            yield _stack(bench, read_sequentially, "cache_sequential_read", mode)
            yield _stack(bench, read_at_random, "cache_random_read", mode)
        if params.fio:
            yield _stack(bench, fio_sequentially, "fio_sequential_read", mode)
            yield _stack(bench, fio_at_random, "fio_random_read", mode)
        for readers in dict.fromkeys(params.readers):
            yield _stack(bench, read_in_parallel, "parallel_read", mode, readers)


def _movies(bench: Bench, mode: Mode, kind: MovieFormat, files: FileSet) -> Once:
    def once(repeat: int) -> None:
        read_sequentially(bench.book, Case(f"movie_read_{kind}", mode, repeat), files)

    return once


def _stack(
    bench: Bench, read: Callable[[Book, Case, Stack], None], name: str, mode: Mode, readers: int = 1
) -> Once:
    where = "cache" if name.startswith("cache") else "particle"

    def once(repeat: int) -> None:
        # Which files these are is known only when they are written in this repeat.
        read(bench.book, Case(name, mode, repeat, readers), bench.stacks[where])

    return once


def copy_stack(book: Book, stack: Stack, folder: Path, repeat: int) -> Stack:
    """Copy the stack, cold where that can be had, and time copying and flushing.

    Copies of an earlier repeat are removed before.
    """
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    copies = replace(stack, folder=folder, files=tuple(folder / f.name for f in stack.files))
    with book.task.span("compute"):
        proof = prepare(stack.files, "cold")
        book.prove(COPY, repeat, 1, proof)
    copy_s = flush_s = 0.0
    with book.task.span("write"):
        for source, copy in zip(stack.files, copies.files, strict=True):
            begin = time.perf_counter()
            shutil.copyfile(source, copy)
            flushing = time.perf_counter()
            flush_to_disk(copy)
            flush_s += time.perf_counter() - flushing
            copy_s += flushing - begin
    with book.task.span("compute"):
        block_bytes = book.params.block_bytes
        checksum = float(verified(Reader(block_bytes), copies, block_bytes))
    of_all: dict[str, Any] = {"repeat": repeat, "amount": stack.total_bytes, "unit": "B"}
    of_all["bottleneck"] = "storage"
    details = proof.details | {"checksum_crc32": checksum}
    book.add(COPY, copy_s + flush_s, **of_all, cache=proof.state, details=details)
    book.add(COPY, copy_s, **of_all, cache=proof.state, step="copy")
    book.add(COPY, flush_s, **of_all, step="flush")
    return copies
