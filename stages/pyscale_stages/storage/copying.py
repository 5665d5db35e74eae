"""Copies the particle stack to a cache folder, as programs do before they read it at random."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

from pyscale_stages.atomic import flush_to_disk
from pyscale_stages.storage.book import Book
from pyscale_stages.storage.cachestate import prepare
from pyscale_stages.storage.reading import Reader
from pyscale_stages.storage.reads import verified
from pyscale_stages.storage.stack import Stack
from pyscale_stages.timing import Timing

COPY = "particle_cache_copy"


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
            copied = time.perf_counter()
            flush_to_disk(copy)
            flush_s += time.perf_counter() - copied
            copy_s += copied - begin
    with book.task.span("compute"):
        block_bytes = book.params.block_bytes
        checksum = float(verified(Reader(block_bytes), copies, block_bytes))
    for step, wall_s in ((None, copy_s + flush_s), ("copy", copy_s), ("flush", flush_s)):
        book.task.timings.append(
            Timing(
                test=COPY,
                step=step,
                repeat=repeat,
                wall_s=wall_s,
                amount=stack.total_bytes,
                unit="B",
                bottleneck="storage",
                cache=None if step == "flush" else proof.state,
                details=proof.details | {"checksum_crc32": checksum} if step is None else {},
            )
        )
    return copies
