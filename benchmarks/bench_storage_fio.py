"""Claim: cold reads of the storage stage are within 5 % of fio's in order, 10 % at random.

The same files, block size, engine (psync: one pread after the other) and kind of memory, and the
same proved state of the page cache, in pairs whose order alternates. Reads past the page cache
stand beside them. Give the folder whose storage is read; by default it is that of temporary files.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pyscale.analysis.intervals import median_interval
from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.storage.book import Book, Case
from pyscale_stages.storage.fio import fio_at_random, fio_sequentially, fio_version
from pyscale_stages.storage.params import Mode, StorageParams
from pyscale_stages.storage.reads import read_at_random, read_sequentially
from pyscale_stages.storage.stage import STAGE
from pyscale_stages.storage.testfiles import Stack, write_stack
from pyscale_stages.task import Task
from pyscale_stages.timing import Timing

PAIRS = 24
PARAMS = StorageParams(particles=2000, particle_files=20)
MODES: tuple[Mode, ...] = ("cold", "direct")
WANTED = {"cold": "verified-cold", "direct": "direct"}
Read = Callable[[Book, Case, Stack], None]


class Kind(NamedTuple):
    """A way of reading, by both."""

    name: str
    stage: Read
    fio: Read
    bar: float
    """How far the ratio of their rates may be from 1."""


KINDS = (
    Kind("in order", read_sequentially, fio_sequentially, 0.05),
    Kind("at random", read_at_random, fio_at_random, 0.10),
)


def main() -> int:
    """Print medians and ratios; fail where a whole interval lies beyond its bar."""
    if fio_version() is None:
        print("fio is not installed here: apt-get install fio")
        return 2
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with TemporaryDirectory(dir=place) as folder:
        spec = TaskSpec(stage=STAGE.name, inputs=(), output=Path(folder) / "out")
        book = Book(Task(STAGE, spec, PARAMS, SpanRecorder(time.monotonic())), PARAMS)
        stack = write_stack(book, Path(folder) / "stack", 0)
        print(
            f"{fio_version()}, {stack.total_bytes / 1e6:.0f} MB in {len(stack.files)} files, "
            f"{PARAMS.block_bytes >> 10} KiB in order, {PARAMS.particle_bytes >> 10} KiB at "
            f"random, {PAIRS} pairs"
        )
        met = [within(book, stack, mode, kind) for mode in MODES for kind in KINDS]
    return 0 if all(met) else 1


def within(book: Book, stack: Stack, mode: Mode, kind: Kind) -> bool:
    """Read by both in turn and say whether the stage's rate is within the bar of fio's."""
    rates: tuple[list[float], list[float]] = ([], [])
    for pair in range(PAIRS):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            read = (kind.stage, kind.fio)[which]
            rates[which].append(rate_of(book, read, Case(kind.name, mode, pair), stack))
    ratios = [mine / theirs for mine, theirs in zip(*rates, strict=True)]
    interval = median_interval(ratios)
    assert interval is not None
    ours, theirs = (statistics.median(values) / 1e6 for values in rates)
    print(
        f"{mode:<7}{kind.name:<10} stage {ours:7.0f} MB/s   fio {theirs:7.0f} MB/s   ratio "
        f"{statistics.median(ratios):.3f} [{interval.low:.3f}, {interval.high:.3f}]   "
        f"bar {1 - kind.bar:.2f} to {1 + kind.bar:.2f}"
    )
    return interval.high >= 1 - kind.bar and interval.low <= 1 + kind.bar


def rate_of(book: Book, read: Read, case: Case, stack: Stack) -> float:
    """Read once, in the proved state, and answer bytes per second."""
    read(book, case, stack)
    timing = book.task.of(Timing)[-1]
    if timing.wall_s is None or timing.amount is None or timing.cache != WANTED[case.mode]:
        sys.exit(f"nothing to compare here: {timing.why_not or timing.cache}")
    return timing.amount / timing.wall_s


if __name__ == "__main__":
    sys.exit(main())
