"""The CPUs that a process is bound to; macOS binds none."""

from __future__ import annotations

import os
from collections.abc import Iterable

CAN_BIND = hasattr(os, "sched_setaffinity")
NOT_BOUND = (
    "this operating system binds no process to cores: workers share all of them, and move between "
    "them"
)


def bound_to() -> list[int]:
    """CPUs that the scheduler may put this process on, in rising order; none where it may any."""
    return sorted(os.sched_getaffinity(0)) if CAN_BIND else []


def bind_to(cpus: Iterable[int]) -> None:
    """Keep this process, and what it starts, on some CPUs, where the operating system can."""
    if CAN_BIND:
        os.sched_setaffinity(0, cpus)
