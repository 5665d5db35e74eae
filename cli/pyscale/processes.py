"""Processes of this machine: which are a run's, when they have ended, and by which signal."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

import psutil

ZOMBIE_PERIOD_S = 0.1
WORKERS_FOLDER = "workers"
"""Folder of a run that holds one for each warm worker."""
_RECORDS = ("/result.json", "/worker.json")
_LAUNCHING = (
    "pyscale.executors.controller",
    "pyscale.executors.resident",
    "submitit.core._submit",
)


def wait_until_ended(
    processes: Collection[psutil.Process], limit_s: float = math.inf
) -> list[psutil.Process]:
    """Return those that have not ended in time; a zombie has, though its parent may never ask."""
    alive = list(processes)
    deadline = time.monotonic() + limit_s
    while alive:
        _, left = psutil.wait_procs(alive, timeout=ZOMBIE_PERIOD_S)
        alive = [process for process in left if not _has_ended(process)]
        if time.monotonic() > deadline:
            break
    return alive


def started_for(run: Path) -> list[psutil.Process]:
    """Return the processes of this user that pyscale started for a run, by their command lines."""
    launched = (f"{run}/submitit/", f"{run}/{WORKERS_FOLDER}/")
    recorded = (f"{run}/tasks/", f"{run}/{WORKERS_FOLDER}/")
    return [
        process
        for process in psutil.process_iter(["cmdline", "uids"])
        if (line := process.info["cmdline"])
        and (owner := process.info["uids"])
        and owner.real == os.getuid()
        and (
            # Whoever computes on an output of the run by hand has no record in it.
            any(part.startswith(recorded) and part.endswith(_RECORDS) for part in line)
            if is_task(process)
            else any(module in line for module in _LAUNCHING)
            and any(part.startswith(launched) for part in line)
        )
    ]


def is_task(process: psutil.Process) -> bool:
    """Whether a process that `process_iter` found runs a stage."""
    return "pyscale_stages" in (process.info["cmdline"] or ())


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
