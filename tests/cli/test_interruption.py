"""What must not be interrupted is not, whichever thread the kernel gives the signal to."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from pyscale.interruption import blocked, killed_by, termination_as_interrupt

PATIENCE_S = 600.0


@pytest.fixture
def another_thread_gets():
    """Let a thread that was there before be given a signal; return when it has been."""
    wanted = []
    go, given = threading.Event(), threading.Event()

    def wait_for_it():
        go.wait()
        for number in wanted:
            signal.pthread_kill(threading.get_ident(), number)
        given.set()

    thread = threading.Thread(target=wait_for_it)
    thread.start()

    def give(number):
        wanted.append(number)
        go.set()
        assert given.wait(PATIENCE_S)

    yield give
    go.set()
    thread.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_another_thread_gets_waits_until_the_block_is_left(
    another_thread_gets, number
):
    ended = False
    with (
        termination_as_interrupt(),
        pytest.raises(KeyboardInterrupt),
        blocked(signal.SIGINT, signal.SIGTERM),
    ):
        another_thread_gets(number)
        subprocess.run(["true"], check=True)
        ended = True
    assert ended


def test_a_signal_of_the_whole_process_waits_until_the_block_is_left():
    ended = False
    with pytest.raises(KeyboardInterrupt), blocked(signal.SIGINT):
        os.kill(os.getpid(), signal.SIGINT)
        subprocess.run(["true"], check=True)
        ended = True
    assert ended


def test_a_process_that_was_started_in_the_block_never_hears_them():
    with blocked(signal.SIGINT):
        process = subprocess.Popen(["sleep", "1000"])
    status = Path(f"/proc/{process.pid}/status").read_text()
    process.kill()
    process.wait()
    mask = int(status.partition("SigBlk:")[2].split()[0], 16)
    assert mask >> (signal.SIGINT - 1) & 1


def test_nothing_is_changed_where_no_signal_came():
    handler = signal.getsignal(signal.SIGINT)
    with blocked(signal.SIGINT):
        pass
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_signal_inside_a_container_shows_in_the_exit_code():
    assert killed_by(137, in_container=True) == killed_by(-9, in_container=True) == signal.SIGKILL
    by_itself = [killed_by(code, in_container=True) for code in (0, 1, 3, 127, 255)]
    assert by_itself == [None] * 5
    assert killed_by(137, in_container=False) is None
