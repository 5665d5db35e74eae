"""Claim: cold reads of the storage stage are within 5 % of fio's in order, 10 % at random.

The same files, block size, engine (psync: one pread after the other) and kind of memory, and the
same proved state of the page cache, in pairs whose order alternates. Reads past the page cache
stand beside them. Give the folder whose storage is read; by default it is that of temporary files.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pyscale.analysis.intervals import median_interval
from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.storage.reading import ALIGNMENT_BYTES
from pyscale_stages.storage.reads import (
    Case,
    Stack,
    prepare,
    random_order,
    read_at_random,
    read_sequentially,
)
from pyscale_stages.storage.stage import STAGE, Mode, StorageParams
from pyscale_stages.storage.testfiles import FILE_NAME, write_stack
from pyscale_stages.task import Task
from pyscale_stages.timing import Timing

PAIRS = 24
PARAMS = StorageParams(particles=2000, particle_files=20)
MODES: tuple[Mode, ...] = ("cold", "direct")
WANTED = {"cold": "verified-cold", "direct": "direct"}
FIO = shutil.which("fio")
Reads = Callable[[Task[StorageParams], Case, Stack], float]
"""Reads once in the proved state, and answers bytes per second."""


class Kind(NamedTuple):
    """A way of reading, by both."""

    name: str
    stage: Reads
    fio: Reads
    bar: float
    """How far the ratio of their rates may be from 1."""


def by_stage(read: Callable[[Task[StorageParams], Case, Stack], None]) -> Reads:
    """Read as the stage does."""

    def rate(task: Task[StorageParams], case: Case, stack: Stack) -> float:
        read(task, case, stack)
        timing = task.of(Timing)[-1]
        refuse_other_state(case, timing.why_not or timing.cache)
        assert timing.wall_s is not None
        assert timing.amount is not None
        return timing.amount / timing.wall_s

    return rate


def fio_in_order(task: Task[StorageParams], case: Case, stack: Stack) -> float:
    """Let fio read the files one after the other, as `read_sequentially` does."""
    return by_fio(
        case,
        stack,
        "--rw=read",
        "--file_service_type=sequential",
        # A list of many names would be longer than fio takes.
        f"--filename_format={FILE_NAME.format('$filenum')}",
        f"--nrfiles={len(stack.files)}",
        f"--bs={task.params.block_bytes}",
    )


def fio_at_random(task: Task[StorageParams], case: Case, stack: Stack) -> float:
    """Let fio read particle after particle in the very order of `read_at_random`."""
    # In its own random order neighbours follow each other, which a disk reads faster.
    alignment_bytes = ALIGNMENT_BYTES if case.mode == "direct" else 1
    names = [path.name for path in stack.files]
    lines = ["fio version 2 iolog"]
    lines += [f"{name} {action}" for action in ("add", "open") for name in names]
    for index in random_order(task, case, stack):
        piece = stack.pieces[index]
        # A piece begins where its block of the disk does.
        start = piece.offset_bytes - piece.offset_bytes % alignment_bytes
        lines.append(f"{names[piece.file]} read {start} {piece.length_bytes}")
    log = stack.folder.parent / "fio.log"
    log.write_text("\n".join([*lines, *(f"{name} close" for name in names), ""]))
    return by_fio(case, stack, f"--read_iolog=../{log.name}", "--replay_no_stall=1")


def by_fio(case: Case, stack: Stack, *options: str) -> float:
    """Let fio read the stack once, in the proved state."""
    command = [
        FIO or "fio",
        "--name=read",
        # Memory like that of `Reader`: fio's own begins anywhere in a page, and copies into it
        # take longer.
        "--iomem=mmap",
        *options,
        f"--direct={int(case.mode == 'direct')}",
        "--ioengine=psync",
        # The state of the page cache is prepared and proved beforehand, and no hint given,
        # because the other side of the comparison gives none either.
        *("--invalidate=0", "--fadvise_hint=0"),
        *("--thread", "--readonly", "--output-format=json"),
    ]
    refuse_other_state(case, prepare(stack.files, case.mode).state)
    done = subprocess.run(command, cwd=stack.folder, stdout=subprocess.PIPE, text=True, check=True)
    read = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]
    # fio counts whole milliseconds.
    return float(1000 * read["io_bytes"] / read["runtime"])


def refuse_other_state(case: Case, found: str | None) -> None:
    """End where files were not in the state that the comparison is about."""
    if found != WANTED[case.mode]:
        sys.exit(f"nothing to compare here: {found}")


KINDS = (
    Kind("in order", by_stage(read_sequentially), fio_in_order, 0.05),
    Kind("at random", by_stage(read_at_random), fio_at_random, 0.10),
)


def main() -> int:
    """Print medians and ratios; fail where a whole interval lies beyond its bar."""
    if FIO is None:
        print("not measured: fio is not installed here (apt-get install fio)")
        return 0
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with TemporaryDirectory(dir=place) as folder:
        spec = TaskSpec(stage=STAGE.name, inputs=(), output=Path(folder) / "out")
        task = Task(STAGE, spec, PARAMS, SpanRecorder(time.monotonic()))
        stack = write_stack(task, Path(folder) / "stack", 0)
        version = subprocess.check_output([FIO, "--version"], text=True).strip()
        print(
            f"{version}, {stack.total_bytes / 1e6:.0f} MB in {len(stack.files)} files, "
            f"{PARAMS.block_bytes >> 10} KiB in order, {PARAMS.particle_bytes >> 10} KiB at "
            f"random, {PAIRS} pairs"
        )
        met = [within(task, stack, mode, kind) for mode in MODES for kind in KINDS]
    return 0 if all(met) else 1


def within(task: Task[StorageParams], stack: Stack, mode: Mode, kind: Kind) -> bool:
    """Read by both in turn and say whether the stage's rate is within the bar of fio's."""
    rates: tuple[list[float], list[float]] = ([], [])
    for pair in range(PAIRS):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            read = (kind.stage, kind.fio)[which]
            rates[which].append(read(task, Case(kind.name, mode, pair), stack))
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


if __name__ == "__main__":
    sys.exit(main())
