"""One pyscale at a time may write a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from filelock import Timeout
from pydantic import Field

from pyscale.errors import UserError
from pyscale.filelocks import file_lock, is_held
from pyscale_stages.atomic import naming, write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.measure.nodename import host_name

LOCK_FILE = "lock"
PATIENCE_S = 2.0
"""A look at the lock holds it for an instant; a writer holds it for the whole run."""


class LockHolder(Record):
    """The process that writes a run."""

    pid: int
    started_s: float = Field(description="When the process began: its number may be used again")
    node: str = Field(description="Name of the host, whose process numbers these are")

    @property
    def is_here(self) -> bool:
        """Whether it is, or was, a process of this node."""
        return self.node == host_name()

    def process(self) -> psutil.Process | None:
        """Return the process, if it lives on this node."""
        if not self.is_here:
            return None
        try:
            found = psutil.Process(self.pid)
            return found if found.create_time() == self.started_s else None
        except (psutil.Error, ValueError, OverflowError):
            return None


@contextmanager
def writing(run: Path, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Hold the run, and let nobody else write what is made in the block."""
    with written_by_owner_alone(), naming(run), run_lock(run, patience_s):
        yield


@contextmanager
def written_by_owner_alone() -> Iterator[None]:
    """Let what is made in the block be nobody else's to change, whatever the umask allows."""
    # The umask can be read only by setting it.
    asked = os.umask(0o022)
    os.umask(asked | 0o022)
    try:
        yield
    finally:
        os.umask(asked)


@contextmanager
def run_lock(run: Path, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Hold the run for this process; UserError where another holds it after a while."""
    lock = file_lock(run / LOCK_FILE)
    try:
        lock.acquire(timeout=patience_s, poll_interval=0.02)
    except Timeout as error:
        raise UserError(
            f"{_named(lock_holder(run))} is writing the run {run.name}: follow it with `pyscale "
            f"status {run.name} --watch`, or end it with `pyscale cancel {run.name}`"
        ) from error
    try:
        me = LockHolder(pid=os.getpid(), started_s=psutil.Process().create_time(), node=host_name())
        write_atomically(run / "lock.json", me.model_dump_json() + "\n")
        yield
    finally:
        lock.release()


def is_locked(run: Path) -> bool:
    """Whether a living process writes the run now."""
    return is_held(run / LOCK_FILE)


def _named(holder: LockHolder | None) -> str:
    return f"process {holder.pid} on {holder.node}" if holder else "another process"


def writer_here(run: Path) -> psutil.Process:
    """The process that writes the run, if `lock.json` names it and this user may end it here."""
    holder = lock_holder(run)
    process = holder.process() if holder else None
    if holder is not None and not holder.is_here:
        raise UserError(
            f"process {holder.pid} on {holder.node} writes the run {run.name}: run `pyscale "
            f"cancel {run.name}` there"
        )
    # A writer takes the lock before it writes lock.json, which may name the one before.
    if process is None or not _has_open(process, run / LOCK_FILE):
        raise UserError(
            f"the run {run.name} is locked by a process that its lock.json does not name: find "
            f"it by `fuser {run / LOCK_FILE}`, and end it or ask its owner to"
        )
    return process


def _has_open(process: psutil.Process, lock: Path) -> bool:
    """Whether a process of this user has the file open by which it holds a lock."""
    with suppress(psutil.Error, OSError):
        return any(Path(opened.path).samefile(lock) for opened in process.open_files())
    return False


def lock_holder(run: Path) -> LockHolder | None:
    """Return the last process that took the lock; it may be gone."""
    try:
        return LockHolder.model_validate_json((run / "lock.json").read_bytes())
    except (OSError, ValueError):
        return None
