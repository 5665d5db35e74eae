"""Processes: when those of this machine have ended, and what the signal is called that did it."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Collection

import psutil

ZOMBIE_PERIOD_S = 0.1


def wait_until_ended(
    processes: Collection[psutil.Process], limit_s: float = math.inf
) -> list[psutil.Process]:
    """Return when all have ended, or after a while; return those that have not.

    A zombie has ended: what is left of it goes when its parent asks, which may be never.
    """
    alive = list(processes)
    deadline = time.monotonic() + limit_s
    while alive:
        _, left = psutil.wait_procs(alive, timeout=ZOMBIE_PERIOD_S)
        alive = [process for process in left if not _has_ended(process)]
        if time.monotonic() > deadline:
            break
    return alive


def signal_name(number: int) -> str:
    """Name of a signal, like SIGKILL; its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
