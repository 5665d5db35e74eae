"""The folder that is measured: whether it will do, and a folder in it that is always removed."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from pyscale_stages.errors import BadInput, ResourceExhausted, StageError
from pyscale_stages.measure.mounts import filesystem_of

PREFIX = "pyscale-storage-"
SPARE_SHARE = 0.05
"""Room that is wanted beyond the files: a full filesystem is slow, and its blocks are whole."""
_GIVE = "give another one, as in --input place=FOLDER"


def ready(folder: Path, what: str) -> Path:
    """Make sure that something can be written into a folder.

    Raises
    ------
    BadInput
        If it does not exist, is none, or may not be written.
    """
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        raise BadInput(f"{what} {folder} is no folder that exists: {_GIVE}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInput(f"nothing may be written into {what} {folder}: {_GIVE}")
    return folder


def refuse_lack_of_space(needed: dict[Path, int]) -> None:
    """Refuse folders whose filesystems have not the room for what will be written.

    Parameters
    ----------
    needed : dict
        Bytes by folder; folders of one filesystem are added up.

    Raises
    ------
    ResourceExhausted
        If one has too little.
    """
    by_device: dict[int, list[Path]] = {}
    for folder in needed:
        by_device.setdefault(folder.stat().st_dev, []).append(folder)
    for folders in by_device.values():
        wanted = int(sum(needed[folder] for folder in folders) * (1 + SPARE_SHARE))
        free = shutil.disk_usage(folders[0]).free
        if wanted > free:
            raise ResourceExhausted(
                f"the test files need {wanted / 1e9:.2f} GB, but {folders[0]} has "
                f"{free / 1e9:.2f} GB free: free space there, give another place, or lower "
                "particles, movies or small_files"
            )


@contextmanager
def work_folder(place: Path) -> Iterator[Path]:
    """Make a folder inside a place and remove it whatever happens, also where the task is ended.

    A batch system ends a task by SIGTERM, which leaves Python no time for anything; while the
    folder is there, it ends the task as Ctrl-C does.
    """
    with _term_as_exit():
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        try:
            yield folder
        finally:
            # A second Ctrl-C must not leave half of it behind.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
            try:
                shutil.rmtree(folder)
            except FileNotFoundError:
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def in_words(place: Path) -> Iterator[None]:
    """Say in one sentence what the filesystem of a place answered."""
    try:
        yield
    except OSError as error:
        raise _sentence(error, place) from error


def filesystem_versions(place: Path, prefix: str) -> dict[str, str]:
    """Describe the filesystem of a folder, for the record."""
    found = filesystem_of(place)
    said = {
        "filesystem": found.fs_type,
        "device": found.device,
        "options": ",".join(found.options),
        "scheduler": found.scheduler,
        "rotational": "" if found.rotational is None else str(found.rotational).lower(),
        "read_ahead_bytes": "" if found.read_ahead_bytes is None else str(found.read_ahead_bytes),
        "unknown_because": found.reason,
    }
    return {f"{prefix}_{name}": text for name, text in said.items() if text}


@contextmanager
def _term_as_exit() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what a signal does
        return

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _sentence(error: OSError, place: Path) -> StageError:
    said = error.strerror or type(error).__name__
    if error.errno == errno.ENOSPC:
        return ResourceExhausted(
            f"the filesystem of {place} became full: free space there, or lower particles, movies "
            "or small_files"
        )
    if error.errno == errno.EDQUOT:
        return ResourceExhausted(
            f"the quota of {place} is used up: raise it, or lower particles, movies or small_files"
        )
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return ResourceExhausted(
            "a task may not have so many files open at once: lower particle_files, or raise the "
            "limit by ulimit -n"
        )
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return BadInput(f"nothing may be written into {place} ({said}): {_GIVE}")
    if error.errno in {errno.ENOENT, errno.ESTALE}:
        return BadInput(
            f"a file of the test vanished from {place} while it was used: does something clean "
            "that folder? Give another one, as in --input place=FOLDER"
        )
    return StageError(f"the filesystem of {place} answered with an error ({said})")
