"""fio as yardstick: the same files, blocks, engine and cache state, by a program that all know."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from pyscale_stages.storage.book import QUANTILES, Book, Case
from pyscale_stages.storage.reading import Piece
from pyscale_stages.storage.reads import (
    Read,
    alignment_of,
    random_order,
    timed_read,
    why_not_direct,
)
from pyscale_stages.storage.testfiles import FILE_NAME, Stack

ABSENT = "fio is not installed here: apt-get install fio"
TOO_LITTLE = "larger than data set range"
"""What fio says of files that are smaller than one read."""


def fio_version() -> str | None:
    """What fio calls itself, like `fio-3.33`; None where there is none."""
    program = shutil.which("fio")
    if program is None:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return said.stdout.strip() if said.returncode == 0 else None


def fio_sequentially(book: Book, case: Case, stack: Stack) -> None:
    """Let fio read the stack's files one after the other, as `read_sequentially` does."""
    options = [
        "--rw=read",
        "--file_service_type=sequential",
        # A list of many names would be longer than fio takes.
        f"--filename_format={FILE_NAME.format('$filenum')}",
        f"--nrfiles={len(stack.files)}",
        f"--bs={book.params.block_bytes}",
    ]
    _timed(book, case, stack, book.params.block_bytes, options)


def fio_at_random(book: Book, case: Case, stack: Stack) -> None:
    """Let fio read particle after particle in the very order of `read_at_random`."""
    # In its own random order neighbours follow each other, which a disk reads faster.
    direct = case.mode == "direct" and not why_not_direct(stack.files[0])
    alignment_bytes = alignment_of(stack.files[0]) if direct else 1
    pieces = [stack.pieces[index] for index in random_order(book, case, stack)]
    log = stack.folder.parent / "fio.log"
    log.write_text(replay_of(pieces, [path.name for path in stack.files], alignment_bytes))
    options = [f"--read_iolog=../{log.name}", "--replay_no_stall=1"]
    _timed(book, case, stack, book.params.particle_bytes, options)


def replay_of(pieces: Sequence[Piece], names: Sequence[str], alignment_bytes: int) -> str:
    """Write reads as version 2 of fio's log; a piece begins where its block of the disk does."""
    lines = ["fio version 2 iolog"]
    lines += [f"{name} {action}" for action in ("add", "open") for name in names]
    for piece in pieces:
        start = piece.offset_bytes - piece.offset_bytes % alignment_bytes
        lines.append(f"{names[piece.file]} read {start} {piece.length_bytes}")
    return "\n".join([*lines, *(f"{name} close" for name in names), ""])


def _timed(book: Book, case: Case, stack: Stack, block_bytes: int, options: Sequence[str]) -> None:
    program = shutil.which("fio")
    if program is None:
        book.add(case.test, None, why_not=ABSENT, **case.timing)
        return
    command = [
        program,
        f"--name={case.name}",
        # Memory like that of `Reader`: fio's own begins anywhere in a page, and copies into it
        # take longer.
        "--iomem=mmap",
        *options,
        f"--direct={int(case.mode == 'direct')}",
        "--ioengine=psync",
        # The state of the page cache is prepared and proved beforehand, and no hint given,
        # because the other side of the comparison gives none either.
        "--invalidate=0",
        "--fadvise_hint=0",
        "--thread",
        "--readonly",
        "--output-format=json",
    ]

    def read() -> Read | str:
        done = subprocess.run(
            command, cwd=stack.folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip().rpartition("\n")[2].rstrip(".")
            remedy = ": use a larger stack" if TOO_LITTLE in said else ""
            return f"fio failed: {said or 'no output'}{remedy}"
        return read_of(done.stdout, block_bytes)

    timed_read(book, case, stack, read)


def read_of(answer: str, block_bytes: int) -> Read | str:
    """Take the time, the bytes and the latencies from fio's JSON, or say why it has none."""
    try:
        found: dict[str, Any] = json.loads(answer[answer.index("{") :])["jobs"][0]["read"]
        wall_s, amount = found["runtime"] / 1000, found["io_bytes"]
        reads, latency = found["total_ios"], found["clat_ns"]
    except (ValueError, KeyError, IndexError) as error:
        return f"unreadable answer of fio ({type(error).__name__}: {error})"
    if not amount:
        return f"no file holds a whole block of {block_bytes} bytes, the least that fio reads"
    if not wall_s:
        return "the test is too short for fio, which counts milliseconds: use a larger stack"
    percentile = latency.get("percentile", {})
    details = {"block_bytes": float(block_bytes), "reads_per_s": reads / wall_s}
    for name, share in QUANTILES.items():
        if (key := f"{100 * share:.6f}") in percentile:
            details[f"latency_{name}_s"] = percentile[key] / 1e9
    return Read(wall_s, amount, details | {"latency_mean_s": latency.get("mean", 0) / 1e9})
