"""Memory and processor time of the processes of one rank, as the kernel reports them.

Nothing here runs while a clock does: it is asked before and after.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from pyscale_stages.measure.cgroups import kernel_text

_PROC = Path("/proc")
_SHARED_MEMORY = "/dev/shm/"


class Use(NamedTuple):
    """What processes have used; None where the kernel does not tell."""

    read_bytes: int | None
    """Asked of the kernel."""
    storage_read_bytes: int | None
    """Fetched from block devices."""
    cpu_s: float | None


@dataclass(frozen=True)
class Memory:
    """What processes hold; None where the kernel does not tell.

    `pss_bytes`: at this moment, each page divided by the processes that map it, and batches that
    wait in shared memory. `rss_bytes`: the sum of what each had at most since it began, as the
    kernel keeps it (VmHWM), with every page in each process that maps it.
    """

    pss_bytes: int | None
    rss_bytes: int | None

    def largest(self, other: Memory) -> Memory:
        """The larger of each of two measurements."""
        return Memory(
            *(
                max((size for size in sizes if size is not None), default=None)
                for sizes in zip(astuple(self), astuple(other), strict=True)
            )
        )


def process_tree() -> list[int]:
    """Numbers of this process and of all that descend from it, itself first."""
    own = psutil.Process()
    return [own.pid, *(child.pid for child in own.children(recursive=True))]


def uses_of(pids: Iterable[int]) -> dict[int, Use]:
    """What each process has used since it began; those that have ended are left out."""
    uses = {}
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            times = process.cpu_times()
            read = fetched = None
            # macOS has no such counters.
            with suppress(psutil.AccessDenied, NotImplementedError, AttributeError):
                counters = process.io_counters()
                read, fetched = counters.read_chars, counters.read_bytes
            uses[pid] = Use(read, fetched, times.user + times.system)
    return uses


def used_between(before: dict[int, Use], after: dict[int, Use]) -> Use:
    """What processes used between two moments; None where one of them ended in between."""
    if not before or before.keys() != after.keys():
        return Use(None, None, None)
    counts = [zip(*uses.values(), strict=True) for uses in (before, after)]
    return Use._make(_grown(was, now) for was, now in zip(*counts, strict=True))


def _grown(was: Sequence[float | None], now: Sequence[float | None]) -> float | None:
    if None in {*was, *now}:
        return None
    return sum(count or 0 for count in now) - sum(count or 0 for count in was)


def memory_of(pids: Sequence[int]) -> Memory:
    """What processes hold at this moment; those that have ended hold nothing."""
    rolled = [found for pid in pids if (found := _sizes(pid, "smaps_rollup"))]
    peak = sum(_sizes(pid, "status").get("VmHWM", 0) for pid in pids) or None
    if not rolled or any("Pss" not in sizes for sizes in rolled):
        return Memory(None, peak)
    mapped = sum(sizes.get("Pss_Shmem", 0) for sizes in rolled)
    own = sum(sizes["Pss"] for sizes in rolled) - mapped
    # A batch that waits may be mapped by no process, and counts by its file.
    return Memory(own + max(mapped, _shared_memory_bytes(pids)), peak)


def _sizes(pid: int, file: str) -> dict[str, int]:
    """Bytes by name, as a file of a process tells them."""
    lines = (line.split() for line in kernel_text(_PROC / str(pid) / file).splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}


def _shared_memory_bytes(pids: Sequence[int]) -> int:
    """Size of the files in shared memory that processes have open, each once: batches that wait."""
    sizes = {}
    for pid in pids:
        with suppress(OSError):  # ended meanwhile
            for descriptor in (_PROC / str(pid) / "fd").iterdir():
                with suppress(OSError):  # closed meanwhile
                    if str(descriptor.readlink()).startswith(_SHARED_MEMORY):
                        found = descriptor.stat()
                        if stat.S_ISREG(found.st_mode):
                            # st_blocks counts 512 bytes, whatever the filesystem's blocks are.
                            sizes[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(sizes.values())
