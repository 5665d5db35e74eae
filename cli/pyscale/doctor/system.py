"""Checks of the system for what disturbs measurements: clock, limits, swap and load."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

from pyscale import DISTRIBUTION
from pyscale.doctor.findings import Finding, beside_the_point, judged, ok, warning
from pyscale.doctor.subject import Subject
from pyscale_stages.measure import stamp
from pyscale_stages.measure.cgroups import kernel_text

CLOCK_FOLDER = Path("/sys/devices/system/clocksource/clocksource0")
_SLOW_CLOCKS = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"}
"""Clocks that are read from a device or tick with the scheduler."""
FILES_PER_PROCESS = 1024
"""Open files: what most systems give, and torch, Java and a pool of threads fit into."""
_SWAP_SHARE = 0.01
"""Of the memory: a little lies in swap for ever on a machine that has been up for months."""
PROCESSES_PER_WORKER = 64
"""Processes and threads of a worker with its libraries' pools, generously."""


def system(subject: Subject) -> Iterator[Finding]:
    """Look at what the whole machine, and not a stage, brings to a measurement."""
    yield software()
    node = stamp.take()
    yield ok("system.hardware", node.label)
    yield clock(CLOCK_FOLDER)
    yield from limits(subject.workers)
    yield swap(node.memory)
    yield load(node.load_1min, os.cpu_count() or 1)


def software() -> Finding:
    """Say which kernel and Python this is."""
    from importlib.metadata import version

    said = (
        f"pyscale {version(DISTRIBUTION)}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.release()} on {platform.machine()}"
    )
    why = ": page cache control and worker placement need Linux"
    doubt = (sys.platform != "linux", why, "measure on Linux")
    return judged("system.platform", said, doubt)


def clock(folder: Path) -> Finding:
    """Look at the clock that the kernel reads the time from."""
    check, name = "system.clock", kernel_text(folder / "current_clocksource")
    if not name:
        return beside_the_point(check, "the kernel reports no clock source")
    others = kernel_text(folder / "available_clocksource")
    why = f", which takes microseconds to read (available: {others})"
    doubt = (name in _SLOW_CLOCKS, why, "ask the staff why the kernel rejected tsc as unstable")
    return judged(check, f"the clock source is {name}", doubt)


def limits(workers: int) -> Iterator[Finding]:
    """Look at what this shell lets its processes have."""
    yield open_files(*resource.getrlimit(resource.RLIMIT_NOFILE))
    yield processes(*resource.getrlimit(resource.RLIMIT_NPROC), workers * PROCESSES_PER_WORKER)
    yield address_space(resource.getrlimit(resource.RLIMIT_AS)[0])
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    yield ok(
        "system.locked_memory",
        f"a process may lock {_bytes(locked)} of memory; the stages lock none",
    )


def open_files(soft: int, hard: int) -> Finding:
    """Compare the files that a process may open with what libraries open."""
    said, why = "a process may open {} files", "thread pools, torch and Java may need"
    return _limited("system.open_files", said, why, (soft, hard, FILES_PER_PROCESS), "-n")


def processes(soft: int, hard: int, needed: int) -> Finding:
    """Compare the processes and threads that a user may have with what workers start."""
    said, why = "this user may have {} processes and threads", "the workers may start"
    return _limited("system.processes", said, why, (soft, hard, needed), "-u")


def _limited(
    check: str, said: str, why: str, numbers: tuple[int, int, int], option: str
) -> Finding:
    soft, hard, needed = numbers
    remedy = f"ulimit {option} {needed}"
    if not _at_least(hard, needed):
        remedy = f"ask the staff to raise the hard limit (ulimit -H {option}) of {hard}"
    number = "any number of" if soft == resource.RLIM_INFINITY else str(soft)
    doubt = (not _at_least(soft, needed), f", but {why} {needed}", remedy)
    return judged(check, said.format(number), doubt)


def address_space(limit: int) -> Finding:
    """Look at the limit of virtual memory, which some sites set in place of one of memory."""
    check = "system.address_space"
    if limit == resource.RLIM_INFINITY:
        return ok(check, "virtual memory is not limited")
    return warning(
        check,
        f"virtual memory is limited to {_bytes(limit)}: Java and CUDA reserve more and would not "
        "start",
        "run `ulimit -v unlimited`, and ask for memory by the batch system instead",
    )


def swap(memory: stamp.Memory) -> Finding:
    """Look whether memory was short on this machine."""
    used, total = memory.swap_used_bytes, memory.swap_total_bytes
    return judged(
        "system.swap",
        f"{_bytes(used)} of {_bytes(total)} swap are in use",
        (
            used > _SWAP_SHARE * memory.total_bytes,
            ": memory was short, and measured work may wait for the disk",
            "measure on a node without other work",
        ),
    )


def load(load_1min: float, cpus: int) -> Finding:
    """Look whether other work runs on this machine."""
    return judged(
        "system.load",
        f"the load was {load_1min:.2f} on {cpus} CPUs at the start",
        (
            load_1min > max(0.5, 0.1 * cpus),
            ": other work would affect the measurement",
            "measure on a quiet node, or ask for whole nodes (--exclusive)",
        ),
    )


def _at_least(limit: int, wanted: int) -> bool:
    return limit == resource.RLIM_INFINITY or limit >= wanted


def _bytes(size: int) -> str:
    if size == resource.RLIM_INFINITY:
        return "any amount"
    return f"{size / 2**30:.1f} GiB" if size >= 1 << 30 else f"{size / 2**20:.0f} MiB"
