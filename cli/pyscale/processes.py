"""Processes here: what one says, which are a run's, when they have ended, and names of users."""

from __future__ import annotations

import math
import os
import pwd
import subprocess
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import psutil

ZOMBIE_PERIOD_S = 0.1
_RECORD = "/result.json"
SUBMISSIONS_FOLDER = "submitit"
"""Folder of a run for submitit's own files."""
_LAUNCHER = "pyscale.executors.launch"


def ran(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program that reads nothing, and return how it ended and what it said."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        **options,
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
    folder = f"{run}/tasks/"
    found = []
    for process in psutil.process_iter(["cmdline", "uids"]):
        # psutil has None for what this user may not read.
        own = process.info["uids"] and process.info["uids"].real == os.getuid()
        line = (process.info["cmdline"] if own else None) or []
        named = [part for part in line if part.startswith(folder)]
        if named and (
            # Whoever computes on an output of the run by hand has no record in it.
            any(part.endswith(_RECORD) for part in named) if is_task(process) else _LAUNCHER in line
        ):
            found.append(process)
    return found


def is_task(process: psutil.Process) -> bool:
    """Whether a process that `process_iter` found runs a stage."""
    return "pyscale_stages" in (process.info["cmdline"] or ())


def _has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def user_name(number: int) -> str:
    """Name of a user by their number, which stands for it where they have none here."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
