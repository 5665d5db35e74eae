"""Sees from outside when a command has started in its container, and when it first reads."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

IN_OPEN, IN_NONBLOCK, IN_CLOEXEC = 0x20, os.O_NONBLOCK, os.O_CLOEXEC
"""Numbers of Linux: what is watched for, and how (see `man 7 inotify`)."""
ENGINE_PROGRAMS = (
    "starter",
    "apptainer",
    "squashfuse",
    "fuse",
    "gocryptfs",
    "conmon",
)
"""How names of programs begin that make a container, and are not what runs in it."""


class FirstOpen:
    """Tells by inotify when processes of a session open one of several files or folders.

    Of a folder any file counts. The kernel also tells of other processes, so those of the session
    are asked for what they hold open. `OSError` where the kernel does not watch all of them.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        paths = list(paths)
        libc = ctypes.CDLL(None, use_errno=True)
        self.was_told = not all(map(_is_seen_whole, paths))
        """Whether anybody opened anything, or might have done so unseen."""
        # The kernel tells of open files by paths without links.
        self._names = tuple({str(name) for path in paths for name in (path, path.resolve())})
        self.fd = libc.inotify_init1(IN_NONBLOCK | IN_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        for name in self._names:
            if libc.inotify_add_watch(self.fd, os.fsencode(name), IN_OPEN) < 0:
                number = ctypes.get_errno()
                self.close()
                raise OSError(number, f"inotify_add_watch: {os.strerror(number)}", name)

    def take(self) -> None:
        """Take in what was opened since the last time."""
        with suppress(BlockingIOError):
            # Where nothing is left it raises, which ends the loop.
            while os.read(self.fd, 1 << 16):
                self.was_told = True

    def is_of(self, session: int) -> bool:
        """Take in what was opened; return whether the session has it open."""
        self.take()
        return any(
            opened == name or opened.startswith(name + os.sep)
            for process in _processes_of(session)
            for opened in _opened_by(process)
            for name in self._names
        )

    def close(self) -> None:
        """Watch no longer."""
        os.close(self.fd)


def runs_in_container(session: int) -> bool:
    """Whether a session has a process in a container that is not the container program's own."""
    here = os.readlink("/proc/self/ns/mnt")  # noqa: PTH115 - it is no path
    for process in _processes_of(session):
        with suppress(OSError):
            # Processes end meanwhile, and those of other users show nothing.
            program = (process / "exe").readlink().name
            if str((process / "ns/mnt").readlink()) != here and not program.startswith(
                ENGINE_PROGRAMS
            ):
                return True
    return False


def _is_seen_whole(path: Path) -> bool:
    """Whether nothing of a path can be opened unseen: folders in a folder are not watched."""
    return not path.is_dir() or not any(one.is_dir() for one in os.scandir(path))


def _processes_of(session: int) -> Iterator[Path]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - hundreds of names, and paths cost more
        if name.isdecimal():
            with suppress(OSError):
                if os.getsid(int(name)) == session:
                    yield Path("/proc", name)


def _opened_by(process: Path) -> Iterator[str]:
    with suppress(OSError):
        for one in (process / "fd").iterdir():
            with suppress(OSError):
                yield os.readlink(one)  # noqa: PTH115 - it may be no path
