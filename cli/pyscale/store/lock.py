"""One pyscale at a time may write a run."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pyscale.errors import UserError
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record


class LockHolder(Record):
    """The process that writes a run."""

    pid: int
    node: str


@contextmanager
def run_lock(run: Path) -> Iterator[None]:
    """Hold the run for this process; the kernel releases it when the process dies.

    Raises
    ------
    UserError
        If another process holds it.
    """
    lock = FileLock(run / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        holder = lock_holder(run)
        who = f"process {holder.pid} on {holder.node}" if holder else "another process"
        raise UserError(
            f"{who} is writing the run {run.name}: follow it with `pyscale status {run.name} "
            f"--watch`, or end it with `pyscale cancel {run.name}`"
        ) from error
    try:
        holder = LockHolder(pid=os.getpid(), node=socket.gethostname())
        write_atomically(run / "lock.json", holder.model_dump_json() + "\n")
        yield
    finally:
        lock.release()


def is_locked(run: Path) -> bool:
    """Whether a living process writes the run now."""
    if not (run / "lock").exists():
        return False
    lock = FileLock(run / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def lock_holder(run: Path) -> LockHolder | None:
    """The last process that took the lock; it may be gone."""
    try:
        return LockHolder(**json.loads((run / "lock.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
