"""Ctrl-C and a polite kill end a run the same way: nothing lost, nothing left running."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt when the process is asked to end, as Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def blocked(*signals: signal.Signals) -> Iterator[None]:
    """Let signals wait until the block is left; a process started in it never hears them.

    The kernel gives one that this thread blocks to any other that does not, like those of a
    library, and Python then calls the handler in the main thread all the same. So the handlers
    are kept back too.
    """
    with masked(*signals):
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        came: set[int] = set()
        handlers = {
            each: signal.signal(each, lambda number, _frame: came.add(number)) for each in signals
        }
        try:
            yield
        finally:
            for each, handler in handlers.items():
                signal.signal(each, handler)
            for number in came:
                # Pending until the mask is gone.
                signal.raise_signal(number)


@contextmanager
def masked(*signals: signal.Signals) -> Iterator[None]:
    """Let this thread, and what it starts in the block, not be given signals."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
