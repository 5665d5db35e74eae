"""Control groups of the kernel (v1), ended with all that is in them."""

import errno
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

END_S = 300.0
POLL_S = 0.02
GONE = {errno.ENOENT, errno.ENODEV}
"""What the kernel answers of a group that was removed, and while it is."""


def end_group(group):
    """Kill what is in a group and in those below it until the kernel lets it be removed.

    What is killed may have forked just before, and a process that has ended keeps its group a
    moment longer than its number.

    Raises
    ------
    TimeoutError
        If it cannot be removed.
    """
    deadline = time.monotonic() + END_S
    while True:
        for folder, _, _ in os.walk(group, topdown=False):
            _kill_and_remove(Path(folder))
        if not group.exists():
            return
        if time.monotonic() > deadline:
            left = {folder: _members(Path(folder)) for folder, _, _ in os.walk(group)}
            raise TimeoutError(f"not removed in {END_S:.0f} s, with these processes: {left}")
        time.sleep(POLL_S)


def _kill_and_remove(group):
    for pid in _members(group):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    try:
        group.rmdir()
    except OSError as error:
        if error.errno not in GONE | {errno.EBUSY}:
            raise


def _members(group):
    """Processes of a group itself; one of another namespace has no number here, so 0 is shown."""
    try:
        told = (group / "cgroup.procs").read_text()
    except OSError as error:
        if error.errno not in GONE:
            raise
        return []
    return [int(pid) for pid in told.split() if pid != "0"]
