"""One pyscale at a time may write a run."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from filelock import FileLock, Timeout
from pydantic import Field

from pyscale.errors import UserError
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.measure.nodename import host_name

PATIENCE_S = 2.0
"""A look at the lock holds it for an instant; a writer holds it for the whole run."""


class LockHolder(Record):
    """The process that writes a run."""

    pid: int
    started_s: float = Field(description="When the process began: its number may be used again")
    node: str = Field(description="Name of the host, whose process numbers these are")

    def process(self) -> psutil.Process | None:
        """Return the process, if it lives on this node."""
        if self.node != host_name():
            return None
        try:
            found = psutil.Process(self.pid)
        except psutil.NoSuchProcess:
            return None
        return found if found.create_time() == self.started_s else None


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
        lock.acquire(timeout=PATIENCE_S, poll_interval=0.02)
    except Timeout as error:
        holder = lock_holder(run)
        who = f"process {holder.pid} on {holder.node}" if holder else "another process"
        raise UserError(
            f"{who} is writing the run {run.name}: follow it with `pyscale status {run.name} "
            f"--watch`, or end it with `pyscale cancel {run.name}`"
        ) from error
    try:
        me = LockHolder(pid=os.getpid(), started_s=psutil.Process().create_time(), node=host_name())
        write_atomically(run / "lock.json", me.model_dump_json() + "\n")
        yield
    finally:
        lock.release()


def is_locked(run: Path) -> bool:
    """Whether a living process writes the run now; others may look at the same moment."""
    try:
        descriptor = os.open(run / "lock", os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def lock_holder(run: Path) -> LockHolder | None:
    """Return the last process that took the lock; it may be gone."""
    try:
        return LockHolder.model_validate_json((run / "lock.json").read_bytes())
    except (OSError, ValueError):
        return None
