"""Ctrl-C, a polite kill and a closed terminal: one orderly end without losses or leftovers.

What pyscale starts ends with it even where it is killed. The launcher imports this: nothing heavy.
"""

from __future__ import annotations

import errno
import os
import signal
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
"""What a terminal sends to every process of the foreground: for Ctrl-C, Ctrl-\\, and its end."""
ENDING = (*OF_TERMINAL, signal.SIGTERM)
"""By which a process is asked to end."""
_PR_SET_PDEATHSIG = 1


class TerminalClosedError(KeyboardInterrupt):
    """The terminal that pyscale was started from has ended, which is no wish to end the run."""


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt when the process is asked to end, by what it does not ignore."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _leave_terminal()
            raise TerminalClosedError
        raise KeyboardInterrupt

    # What nohup, or the & of a shell, made it ignore stays ignored.
    heard = [each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN]
    # Python lets the main thread alone set handlers.
    if threading.current_thread() is not threading.main_thread():
        heard = []
    previous = {each: signal.signal(each, interrupt) for each in heard}
    try:
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)


def _leave_terminal() -> None:
    """Let what is said from now on go nowhere, where the terminal that it went to has ended."""
    for descriptor in (1, 2):
        try:
            termios.tcgetattr(descriptor)
        except termios.error as error:
            # Every word would be an error, and the last of them the end of pyscale.
            if error.args[0] == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def end_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Let the kernel send this process a signal when its parent dies, or has died already."""
    tell_kernel(_PR_SET_PDEATHSIG, number)
    # Looked at after the call: for a parent that died before it, no signal would come.
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def tell_kernel(wish: int, value: int) -> None:
    """Have Linux's kernel do something for this process (prctl); no other has such wishes."""
    import ctypes

    with suppress(AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(wish, value)


def signal_name(number: int) -> str:
    """Name of a signal, like SIGKILL; its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def killed_by(returncode: int, *, in_container: bool) -> int | None:
    """Number of the signal that ended a process, None where it ended by itself.

    A container program, as a shell does, adds 128 to that of a process inside.
    """
    number = returncode - 128 if in_container and returncode > 0 else -returncode
    return number if number in signal.valid_signals() else None


@contextmanager
def ignored(number: signal.Signals) -> Iterator[None]:
    """Ignore a signal in the block; a process started in it does so for good."""
    previous = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, previous)


@contextmanager
def blocked(*signals: signal.Signals) -> Iterator[None]:
    """Let signals wait until the block is left; a process started in it never hears them.

    The kernel gives one that this thread blocks to any other that does not, like those of a
    library, and Python then calls the handler in the main thread all the same. So the handlers are
    kept back too.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    came: set[int] = set()
    # Python lets the main thread alone set handlers.
    kept = signals if threading.current_thread() is threading.main_thread() else ()
    handlers = {each: signal.signal(each, lambda number, _frame: came.add(number)) for each in kept}
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        for number in came:
            # Pending until the mask is gone.
            signal.raise_signal(number)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
