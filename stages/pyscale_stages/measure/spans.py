"""Named spans of a task on the monotonic clock, which one node's processes share."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The launcher imports this module, and models would cost every task a tenth of a second.
    from pyscale_stages.contract import Phase, Span

SPAWN_VARIABLE = "PYSCALE_SPAWN_MONOTONIC_S"
"""Set by whoever starts the process: the monotonic clock just before `exec`."""
CONTAINER_VARIABLE = "PYSCALE_IN_CONTAINER"
"""Set where a container runtime stands between the launcher and the interpreter."""
PYTHON_VARIABLE = "PYSCALE_PYTHON_BOOTTIME_S"
"""Set by an image's runscript: the boot clock, as /proc/uptime tells it, just before Python.

The process is older than that: the container program forks it, and then still makes its
environment.
"""


class SpanRecorder:
    """Collects the spans of one process; spans follow each other and never overlap.

    A span that is opened inside another suspends it: the outer one is recorded in parts, so that a
    writer which asks for the next frame is not charged for making it.
    """

    def __init__(self, main_monotonic_s: float) -> None:
        self._utc_minus_monotonic = datetime.now(UTC) - timedelta(seconds=time.monotonic())
        self._spans: list[Span] = []
        self._open: list[Phase] = []
        self._since = main_monotonic_s
        told_spawn = os.environ.get(SPAWN_VARIABLE)
        spawned = process_start_monotonic_s() if told_spawn is None else float(told_spawn)
        self.start_monotonic_s = spawned
        self.unmeasured_cpu_s = 0.0
        """Processor time of this process in blocks that do not count."""
        python_from = spawned
        if os.environ.get(CONTAINER_VARIABLE):
            # Where the runscript does not tell, the interpreter begins with its process.
            told = os.environ.get(PYTHON_VARIABLE)
            began = process_start_monotonic_s() if told is None else _monotonic_s(float(told))
            python_from = max(spawned, began)
            self.add("container_start", spawned, python_from)
        self.add("python_start", python_from, main_monotonic_s)

    @contextmanager
    def span(self, phase: Phase) -> Iterator[None]:
        """Record the block as time spent in `phase`, also when the block fails."""
        self._end_part()
        self._open.append(phase)
        try:
            yield
        finally:
            self._end_part()
            self._open.pop()

    @contextmanager
    def unmeasured(self) -> Iterator[None]:
        """Take the block out of the measured time, as if all before it had been that much later."""
        self._end_part()
        begin, cpu_s = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            took_s = time.monotonic() - begin
            self.unmeasured_cpu_s += time.process_time() - cpu_s
            self.start_monotonic_s += took_s
            before, self._spans = self._spans, []
            for span in before:
                start, end = span.start_monotonic_s, span.end_monotonic_s
                self.add(span.phase, start + took_s, end + took_s)
            self._since = begin + took_s

    def _end_part(self) -> None:
        """Record what the innermost open span has lasted since it began or went on."""
        now = time.monotonic()
        if self._open:
            self.add(self._open[-1], self._since, now)
        self._since = now

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans so far, in order of their start."""
        return tuple(self._spans)

    def utc(self, monotonic_s: float) -> datetime:
        """UTC time of a reading of the monotonic clock."""
        return self._utc_minus_monotonic + timedelta(seconds=monotonic_s)

    def add(self, phase: Phase, start: float, end: float) -> None:
        """Record a span that lies in the past, from readings of the monotonic clock."""
        from pyscale_stages.contract import Span

        self._spans.append(
            Span(
                phase=phase,
                start_monotonic_s=start,
                end_monotonic_s=max(start, end),
                start_utc=self.utc(start),
            )
        )


def process_start_monotonic_s() -> float:
    """Start of this process on the monotonic clock, to the kernel's 10 ms."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        # As on macOS, which tells the start of a process by the clock of the wall.
        import psutil

        return time.monotonic() - (time.time() - psutil.Process().create_time())
    with open("/proc/self/stat", encoding="ascii") as stat:  # noqa: PTH123 - /proc, no Path needed
        # The second field is the command in parentheses and may hold blanks.
        fields = stat.read().rpartition(")")[2].split()
    # Field 22 of proc_pid_stat(5), counted here from the third.
    ticks_since_boot = int(fields[19])
    return _monotonic_s(ticks_since_boot / os.sysconf("SC_CLK_TCK"))


def _monotonic_s(boottime_s: float) -> float:
    # The boot clock goes on while the machine sleeps, the monotonic one does not.
    suspended_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    return boottime_s - suspended_s
