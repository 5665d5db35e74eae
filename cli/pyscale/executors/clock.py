"""The offset of a node's clock from the orchestrator's, by NTP's exchange of times.

The orchestrator answers on a port while a run goes on; each launcher asks it just before it
starts its task. It asks at all addresses of that machine, and goes on with the first that answers:
a login node often has one outside and one in the cluster, and to look a name up can take seconds.
The launcher imports this: nothing heavy.
"""

from __future__ import annotations

import secrets
import signal
import socket
import socketserver
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any, NamedTuple

from pyscale.interruption import masked

EXCHANGES = 8
LIMIT_S = 0.3
"""In all. Within a cluster an exchange takes less than a thousandth of it."""
PATIENCE_S = 0.1
"""With one exchange: its messages may be lost on the way."""
END_PERIOD_S = 0.05
"""How often the orchestrator's thread looks whether to end."""
_MESSAGE = struct.Struct("!8s8sqq")
"""A mark, a number drawn for each question, and when it came in and went out there, in ns."""
_MARK = b"pyscale?"
_BUFFER_BYTES = 512


class Offset(NamedTuple):
    """The values of a `ClockOffset`, which the launcher does without."""

    offset_s: float
    error_s: float


@contextmanager
def telling_time() -> Iterator[str]:
    """Tell this machine's time to whoever asks, as long as the block lasts.

    Yields what to give `offset_to`: addresses and port, like `10.0.0.1,192.168.1.1:41234`.
    """
    with _Clock(("", 0), _Answer) as clock:
        thread = Thread(target=clock.serve_forever, args=(END_PERIOD_S,), name="clock", daemon=True)
        # Signals are the main thread's, which may have blocked them.
        with masked(*signal.valid_signals()):
            thread.start()
        try:
            yield f"{','.join(_addresses())}:{clock.server_address[1]}"
        finally:
            clock.shutdown()
            thread.join()


def offset_to(clock: str) -> Offset | None:
    """Measure how far this node's clock is ahead of one that `telling_time` tells.

    From the exchange with the shortest round trip; None where no answer came in time. With t1 and
    t4 the times of sending and receiving here, t2 and t3 those of receiving and sending there, the
    offset is ((t1 - t2) + (t4 - t3)) / 2, and the round trip (t4 - t1) - (t3 - t2), half of which
    bounds the error (RFC 5905, section 8).
    """
    hosts, _, port = clock.rpartition(":")
    addresses = [(host, int(port)) for host in hosts.split(",")]
    deadline = time.monotonic() + LIMIT_S
    found: list[tuple[int, float]] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        for _ in range(EXCHANGES):
            patience_s = min(PATIENCE_S, deadline - time.monotonic())
            if patience_s <= 0:
                break
            exchange = _exchange(asker, addresses, patience_s)
            if exchange is not None:
                address, t1, t2, t3, t4 = exchange
                addresses = [address]
                found.append(((t4 - t1) - (t3 - t2), ((t1 - t2) + (t4 - t3)) / 2))
    # A clock that is set meanwhile can make a round trip of less than nothing.
    usable = [
        (round_trip_ns, offset_ns) for round_trip_ns, offset_ns in found if round_trip_ns >= 0
    ]
    if not usable:
        return None
    round_trip_ns, offset_ns = min(usable)
    # 2e9: half of the round trip, in seconds.
    return Offset(offset_s=offset_ns / 1e9, error_s=round_trip_ns / 2e9)


class _Clock(socketserver.UDPServer):
    """Answers one datagram with one: nobody who is slow can make others wait."""

    def get_request(self) -> tuple[Any, Any]:
        (data, answerer), client = super().get_request()
        # Taken here, before anything is done with it: the t2 of the exchange.
        return (data, answerer, time.time_ns()), client

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: whoever asked is gone, or never was."""


class _Answer(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        data, answerer, received_ns = self.request
        if len(data) != _MESSAGE.size or not data.startswith(_MARK):
            return
        number = _MESSAGE.unpack(data)[1]
        answerer.sendto(
            _MESSAGE.pack(_MARK, number, received_ns, time.time_ns()), self.client_address
        )


def _addresses() -> list[str]:
    """IPv4 addresses of this machine."""
    import psutil

    up = {name for name, interface in psutil.net_if_stats().items() if interface.isup}
    found = [
        address.address
        for name, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if name in up and address.family == socket.AF_INET
    ]
    # No other machine reaches loopback, which serves only where there is nothing else.
    return [address for address in found if not address.startswith("127.")] or found


def _exchange(
    asker: socket.socket, addresses: list[tuple[str, int]], patience_s: float
) -> tuple[tuple[str, int], int, int, int, int] | None:
    """Ask at each address; return the one that answered first, and the four times."""
    asked = {}
    for address in addresses:
        number = secrets.token_bytes(8)
        asked[number] = address, time.time_ns()
        # This node may know no way there.
        with suppress(OSError):
            asker.sendto(_MESSAGE.pack(_MARK, number, 0, 0), address)
    deadline = time.monotonic() + patience_s
    while (left_s := deadline - time.monotonic()) > 0:
        asker.settimeout(left_s)
        try:
            data = asker.recv(_BUFFER_BYTES)
        except OSError:
            return None
        t4 = time.time_ns()
        if len(data) != _MESSAGE.size:
            continue
        mark, number, t2, t3 = _MESSAGE.unpack(data)
        # A late answer to an earlier question has a number that is not among these.
        if mark == _MARK and number in asked:
            address, t1 = asked[number]
            return address, t1, t2, t3, t4
    return None
