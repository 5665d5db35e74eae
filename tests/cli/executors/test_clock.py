"""Clocks are compared over a real socket, also with a clock that is really wrong."""

import signal
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyscale.executors import clock as clocks
from pyscale.executors.clock import _MARK, _MESSAGE, offset_to, telling_time

PATIENCE_S = 600.0
"""With a clock that answers: on a busy machine it may be long before it is its turn."""


@pytest.fixture
def answer_is_awaited(monkeypatch):
    """Wait for an answer however late it is."""
    monkeypatch.setattr(clocks, "LIMIT_S", PATIENCE_S)
    monkeypatch.setattr(clocks, "PATIENCE_S", PATIENCE_S)


@pytest.fixture
def asked_until_answered(monkeypatch):
    """Ask again after each answer that is late or lost, as often as it takes."""
    monkeypatch.setattr(clocks, "LIMIT_S", PATIENCE_S)
    monkeypatch.setattr(clocks, "EXCHANGES", 1000)


def port_of(clock):
    return int(clock.rpartition(":")[2])


@contextmanager
def odd_clock(answers):
    """A clock that answers the n-th question with given times, and another's number first."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        address = listener.getsockname()

        def serve():
            n = 0
            while (question := listener.recvfrom(512))[0]:
                data, asker = question
                number = _MESSAGE.unpack(data)[1]
                for times in answers(n):
                    listener.sendto(_MESSAGE.pack(_MARK, b"another!", 0, 0), asker)
                    listener.sendto(_MESSAGE.pack(_MARK, number, *times), asker)
                n += 1

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{address[1]}"
        finally:
            listener.sendto(b"", address)
            thread.join()


@pytest.mark.usefixtures("answer_is_awaited")
def test_one_clock_differs_from_itself_by_no_more_than_the_error():
    with telling_time() as clock:
        found = offset_to(clock)
    assert abs(found.offset_s) <= found.error_s


@pytest.mark.usefixtures("answer_is_awaited")
def test_the_shortest_exchange_counts():
    """All answers but the third claim to have been sent an hour before the question came in."""

    def answers(n):
        now = time.time_ns()
        return [(now, now if n == 2 else now - 3600 * 10**9)]

    with odd_clock(answers) as clock:
        found = offset_to(clock)
    assert abs(found.offset_s) <= found.error_s < 1800


@pytest.mark.usefixtures("asked_until_answered")
def test_a_question_that_was_lost_is_asked_again():
    def answers(n):
        return [(time.time_ns(), time.time_ns())] if n else []

    with odd_clock(answers) as clock:
        assert offset_to(clock) is not None


@pytest.mark.usefixtures("answer_is_awaited")
def test_the_first_address_that_answers_is_enough():
    with telling_time() as clock:
        port = port_of(clock)
        # No machine has the first, and no way leads to the second.
        assert offset_to(f"192.0.2.77,255.255.255.255,127.0.0.1:{port}") is not None


@pytest.mark.parametrize("address", ["127.0.0.1", "192.0.2.77", "255.255.255.255"])
def test_where_nobody_answers_there_is_no_offset(address):
    # Held, so that no other clock is given the port meanwhile.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        assert offset_to(f"{address}:{silent.getsockname()[1]}") is None


def test_only_questions_are_answered():
    question = _MESSAGE.pack(_MARK, b"number 1", 0, 0)
    other_mark = _MESSAGE.pack(b"whatever", b"number 0", 0, 0)
    with (
        telling_time() as clock,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker,
    ):
        asker.connect(("127.0.0.1", port_of(clock)))
        for data in (b"", other_mark, question[:-1], question + b"x", b"x" * 9000, question):
            asker.send(data)
        mark, number, received_ns, sent_ns = _MESSAGE.unpack(asker.recv(512))
        assert (mark, number) == (_MARK, b"number 1")
        assert 0 < received_ns <= sent_ns


@pytest.mark.usefixtures("asked_until_answered")
def test_who_asks_much_and_never_listens_holds_up_nobody():
    with (
        telling_time() as clock,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker,
    ):
        asker.connect(("127.0.0.1", port_of(clock)))
        for _ in range(2000):
            asker.send(_MESSAGE.pack(_MARK, b"number 1", 0, 0))
        assert offset_to(clock) is not None


def test_neither_thread_nor_port_is_left():
    before = set(threading.enumerate())
    with telling_time() as clock:
        assert set(threading.enumerate()) - before
    # One of an earlier test may have ended meanwhile.
    assert not set(threading.enumerate()) - before
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.bind(("", port_of(clock)))


def test_signals_are_left_to_the_main_thread():
    """Where that has blocked one, another thread must not take it."""
    before = set(threading.enumerate())
    with telling_time():
        (thread,) = set(threading.enumerate()) - before
        status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
    assert blocked >> (signal.SIGINT - 1) & 1
    assert blocked >> (signal.SIGTERM - 1) & 1
