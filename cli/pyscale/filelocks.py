"""Locks of files: the kernel's, or a file's existence where the filesystem has no such locks."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from pyscale.console import talk

_NO_LOCKS = frozenset([errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ESTALE])
"""Lustre mounted without flock, NFS without its lock daemon, filesystems that have none, and NFS
that has lost the file."""
_GLANCE_S = 0.05
"""Others may look at a lock for an instant."""


def file_lock(path: Path) -> BaseFileLock:
    """The lock of a file, made where it is absent, that works on its filesystem; not yet held."""
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666))
    # Beside the file, not in its place: a file that was copied here would count as held for ever.
    return FileLock(path) if is_held(path) is not None else SoftFileLock(marker_of(path))


@contextmanager
def claimed(path: Path, waits: str) -> Iterator[None]:
    """Hold the lock of a file in the block; say `waits` when another process is waited for."""
    lock = file_lock(path)
    try:
        lock.acquire(timeout=_GLANCE_S)
    except Timeout:
        talk(waits)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def is_held(path: Path) -> bool | None:
    """Whether a process holds the kernel's lock of a file; None: its filesystem has no locks."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who only look do not take each other for a holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    finally:
        os.close(descriptor)
    return False


def marker_of(path: Path) -> Path:
    """File that is there as long as a lock is held where the filesystem has no locks."""
    return path.with_name(f"{path.name}.held")
