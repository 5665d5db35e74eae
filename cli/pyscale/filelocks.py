"""The kernel's locks of files, by which processes of one machine or of several keep apart."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from pyscale.console import talk
from pyscale.errors import UserError

_NO_LOCKS = frozenset([errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ESTALE])
"""Lustre mounted without flock, NFS without its lock daemon, filesystems that have none, and NFS
that has lost the file."""
_GLANCE_S = 0.05
"""Others may look at a lock for an instant."""


def file_lock(path: Path) -> BaseFileLock:
    """The lock of a file, made where it is absent; not yet held.

    UserError where its filesystem has no locks.
    """
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666))
    try:
        _is_held(path)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise UserError(
            f"the filesystem of {path.parent} has no file locks ({error.strerror}), so nothing "
            "keeps two processes from writing at once: use a folder on another one, or have it "
            "mounted with them, as Lustre with the option flock"
        ) from error
    return FileLock(path)


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


def is_held(path: Path) -> bool:
    """Whether a process holds the lock of a file; none does where the filesystem has no locks."""
    try:
        return _is_held(path)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who only look do not take each other for a holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
