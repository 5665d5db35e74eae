"""Memory and processor time of the processes of one rank, as the kernel reports them.

Nothing here runs while a clock does: it is asked before and after.
"""

from __future__ import annotations

import resource
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from pyscale_stages.measure.cgroups import kernel_text
from pyscale_stages.measure.usage import peak_rss_bytes

_PROC = Path("/proc")
_SHARED_MEMORY = "/dev/shm/"


@dataclass(frozen=True)
class Use:
    """What processes have used; None where the kernel does not tell."""

    read_bytes: int | None
    storage_read_bytes: int | None
    cpu_s: float | None


@dataclass(frozen=True)
class Memory:
    """What processes hold; None where the kernel does not tell.

    `pss_bytes`: each page divided by the processes that map it, and batches that wait in shared
    memory. `rss_bytes`: every page counted in each process that maps it.
    """

    pss_bytes: int | None
    rss_bytes: int

    def largest(self, other: Memory) -> Memory:
        """The larger of each of two measurements."""
        known = [each for each in (self.pss_bytes, other.pss_bytes) if each is not None]
        return Memory(max(known, default=None), max(self.rss_bytes, other.rss_bytes))


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
            read, fetched = _read_bytes(process)
            uses[pid] = Use(read, fetched, times.user + times.system)
    return uses


def _read_bytes(process: psutil.Process) -> tuple[int | None, int | None]:
    """Asked of the kernel and fetched from block devices; None where it does not tell."""
    try:
        counters = process.io_counters()
    except (psutil.AccessDenied, NotImplementedError):
        return None, None
    return counters.read_chars, counters.read_bytes


def used_between(before: dict[int, Use], after: dict[int, Use]) -> Use:
    """What processes used between two moments; None where one of them ended in between."""
    if not before or before.keys() != after.keys():
        return Use(None, None, None)
    pairs = [(before[pid], use) for pid, use in after.items()]
    return Use(
        read_bytes=_sum([_grown(was.read_bytes, now.read_bytes) for was, now in pairs]),
        storage_read_bytes=_sum(
            [_grown(was.storage_read_bytes, now.storage_read_bytes) for was, now in pairs]
        ),
        cpu_s=sum((now.cpu_s or 0.0) - (was.cpu_s or 0.0) for was, now in pairs),
    )


def memory_of(pids: Sequence[int]) -> Memory:
    """What processes hold at this moment; those that have ended hold nothing."""
    rolled = [found for pid in pids if (found := _rollup(pid))]
    resident = [kernel_text(_PROC / str(pid) / "statm").split() for pid in pids]
    rss_bytes = sum(int(fields[1]) for fields in resident if fields) * resource.getpagesize()
    if not rolled or any("Pss" not in sizes for sizes in rolled):
        return Memory(None, rss_bytes or peak_rss_bytes())
    mapped = sum(sizes.get("Pss_Shmem", 0) for sizes in rolled)
    own = sum(sizes["Pss"] for sizes in rolled) - mapped
    return Memory(own + max(mapped, _shared_memory_bytes(pids)), rss_bytes)


def _rollup(pid: int) -> dict[str, int]:
    """Bytes by name, summed over the mappings of a process."""
    sizes = {}
    for line in kernel_text(_PROC / str(pid) / "smaps_rollup").splitlines()[1:]:
        name, _, size = line.partition(":")
        sizes[name] = int(size.split()[0]) * 1024
    return sizes


def _shared_memory_bytes(pids: Sequence[int]) -> int:
    """Size of the files in shared memory that processes have open, each once: batches that wait."""
    sizes = {}
    for pid in pids:
        for descriptor in _descriptors(pid):
            try:
                if not str(descriptor.readlink()).startswith(_SHARED_MEMORY):
                    continue
                found = descriptor.stat()
            except OSError:
                continue  # closed meanwhile
            if stat.S_ISREG(found.st_mode):
                sizes[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(sizes.values())


def _descriptors(pid: int) -> list[Path]:
    try:
        return list((_PROC / str(pid) / "fd").iterdir())
    except OSError:
        return []


def _grown(was: int | None, now: int | None) -> int | None:
    return None if was is None or now is None else now - was


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
