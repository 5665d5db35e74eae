"""A folder inside the measured place that is gone afterwards, however the task ends."""

from __future__ import annotations

import errno
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from types import FrameType
from typing import Any

from pyscale_stages.errors import BadInput

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, how a batch system ends a task, and a closed terminal."""


@contextmanager
def scratch_folder(place: Path, stage: str, warn: Callable[[str], None]) -> Iterator[Path]:
    """Make a folder inside a place and remove it, also where the task is ended by a signal.

    `stage`: for the folder's name. `warn`: told where something could not be removed.
    """
    # Named before it is made: a signal in between finds it below.
    folder = place / f".pyscale-{stage}-{token_hex(4)}"
    with _one_ending() as no_more:
        try:
            try:
                _make(folder)
                yield folder
            finally:
                no_more()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                warn(f"{folder} could not be removed: remove it by hand")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise BadInput(
            f"{folder.parent} is not writable ({error.strerror}): name another folder, as in "
            "--input place=FOLDER"
        ) from error


@contextmanager
def _one_ending() -> Iterator[Callable[[], None]]:
    """Let the first signal that ends the task raise, and no further one disturb the clearing up.

    Handlers and no signal mask: the kernel gives what one thread blocks to a thread of a library
    that does not, and Python then calls the handler in the main thread all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # only the main thread may say what a signal does
        return
    hears, raised = True, False
    held: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal hears, raised
        if hears:
            hears, raised = False, True
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            raise SystemExit(128 + number)
        if not raised:
            held.append(number)

    def no_more() -> None:
        nonlocal hears
        hears = False

    earlier: dict[signal.Signals, Any] = {
        each: signal.signal(each, end)
        for each in ENDINGS
        # Who starts a task by nohup, or behind a shell's back, wants it not to hear.
        if signal.getsignal(each) not in {signal.SIG_IGN, None}
    }
    try:
        yield no_more
    finally:
        for each, handler in earlier.items():
            signal.signal(each, handler)
        if held:
            signal.raise_signal(held[0])
