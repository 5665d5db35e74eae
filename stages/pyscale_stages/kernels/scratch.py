"""The folder for a test's own files, which is gone when the test is over, however it ends."""

from __future__ import annotations

import errno
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from pyscale_stages.errors import BadInput
from pyscale_stages.task import Task

PREFIX = "pyscale-kernels-"


def place_of(task: Task) -> Path:
    """Folder whose storage the tests from disk read: the one that is given, or the output's.

    Raises
    ------
    BadInput
        If what is given is no folder.
    """
    place = task.input("place")
    if place is None:
        task.output.mkdir(parents=True, exist_ok=True)
        return task.output
    if not place.is_dir():
        raise BadInput(f"--input place={place} is no folder: give the one to be measured")
    return place


@contextmanager
def scratch_in(place: Path) -> Iterator[Path]:
    """Yield a new folder, and remove it with all that it holds, however the block ends.

    Raises
    ------
    BadInput
        If the place may not be written.
    """
    with _ended_like_ctrl_c():
        try:
            folder = tempfile.TemporaryDirectory(prefix=PREFIX, dir=place)
        except OSError as error:
            if error.errno not in _WHY_NOT_WRITTEN:
                raise
            raise BadInput(
                f"{place} {_WHY_NOT_WRITTEN[error.errno]}: give another --input place=FOLDER"
            ) from error
        with folder as name:
            yield Path(name)


_WHY_NOT_WRITTEN = {
    errno.EACCES: "may not be written",
    errno.EPERM: "may not be written",
    errno.EROFS: "is on a read-only file system",
    errno.ENOENT: "has vanished",
}


@contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, by which a batch system ends a task, run what must be run at the end."""
    if threading.current_thread() is not threading.main_thread():
        # Python lets only its main thread hear signals.
        yield
        return

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    earlier = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)
