"""Ranks of a step, each a task of its own, on any node: they begin together and end together."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from pyscale_stages.command.heard import Heard
from pyscale_stages.command.process import Call, Running
from pyscale_stages.contract import TaskSpec
from pyscale_stages.errors import StageError
from pyscale_stages.measure.nodename import host_name, node_name
from pyscale_stages.ranks.network import this_network
from pyscale_stages.ranks.rank_failure import LostRank, first_end

LOOPBACK = "127.0.0.1"
TIMEOUT_S = 600.0
"""How long a rank waits for others to come; those that have met wait for each other for ever."""
LOOK_S = 0.1
"""Between two looks for the first rank's address."""
ANSWER_S = 10.0
"""How long one that connects may take to say who it is."""
# Bytes of a line, so that a stranger cannot fill the memory.
LONGEST = 1 << 16

Told = dict[str, Any]


class Line:
    """A connection between two ranks, which carries JSON by lines."""

    def __init__(self, connection: socket.socket) -> None:
        # A node that is lost says nothing.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._socket = connection
        self._file = connection.makefile("rb")

    def fileno(self) -> int:
        """Descriptor that is ready to be read when the other rank has said something, or ended."""
        return self._socket.fileno()

    def tell(self, **told: Any) -> None:
        """Say something; one that has ended does not hear it."""
        with suppress(OSError):
            self._socket.sendall(json.dumps(told).encode() + b"\n")

    def hear(self) -> Told | None:
        """What the other rank says next; None where it has ended."""
        try:
            told = json.loads(self._file.readline(LONGEST))
        except (OSError, ValueError, RecursionError):  # the last of lists in lists in lists
            return None
        return told if isinstance(told, dict) else None

    def close(self) -> None:
        """Part from the other rank."""
        self._file.close()
        self._socket.close()


class Party:
    """The ranks of a step that have met, as one of them sees them.

    The first one hears all others, and tells each what all must know.

    `output`: path that all may write to, the first one's. `variables`: those by which torch and
    others find each other.
    """

    def __init__(
        self, number: int, nodes: Sequence[str], lines: Mapping[int, Line], answer: Told
    ) -> None:
        self._number, self._count = number, len(nodes)
        self._lines = lines
        self._silent = set(lines)
        self._lost: str | None = None
        self.nobody_read = True
        """Whether no rank opened an input, once all have ended; the first one knows."""
        self.output = Path(answer["output"])
        here = [other for other, node in enumerate(nodes) if node == nodes[number]]
        self.variables = {
            "RANK": str(number),
            "WORLD_SIZE": str(len(nodes)),
            "LOCAL_RANK": str(here.index(number)),
            "LOCAL_WORLD_SIZE": str(len(here)),
            "MASTER_ADDR": answer["address"],
            "MASTER_PORT": str(answer["port"]),
        }

    def run(self, call: Call) -> Heard:
        """Run the command of this rank; where another rank ends badly, it is ended."""
        running = Running(call)
        ends, ended = socket.socketpair()
        with ends, ended:
            watching = threading.Thread(target=self._watch, args=(running, ended))
            watching.start()
            try:
                heard = running.follow()
            finally:
                # The other end becomes readable, which ends the watch.
                ends.close()
                watching.join()
        why = running.why_failed()
        # First, as a command that was ended for the sake of another rank has failed, too.
        self._refuse_lost()
        if why is not None:
            raise StageError(why)
        self.nobody_read &= heard.read_nothing
        return heard

    def await_others(self) -> None:
        """Wait, as the first rank, until the commands of all have ended."""
        self._watch(None, None)
        self._refuse_lost()

    def _watch(self, running: Running | None, ended: socket.socket | None) -> None:
        """Hear other ranks until all have ended well, one has not, or the own command ends."""
        with DefaultSelector() as selector:
            for number in self._silent:
                selector.register(self._lines[number], EVENT_READ, number)
            if ended is not None:
                selector.register(ended, EVENT_READ)
            while self._silent and self._lost is None:
                for key, _ in selector.select():
                    if key.data is None:
                        return
                    told = self._lines[key.data].hear()
                    if told is not None and "read_nothing" in told:
                        self.nobody_read &= told["read_nothing"]
                        self._silent.discard(key.data)
                        selector.unregister(key.fileobj)
                        continue
                    # One that was killed could not say why, nor for whom it speaks.
                    self._lost = f"rank {key.data} of {self._count} was ended"
                    if told is not None:
                        self._lost = told["lost"]
                    if running is not None:
                        running.end()
                    return

    def _refuse_lost(self) -> None:
        if self._lost is not None:
            raise LostRank(f"{self._lost}, so rank {self._number} stopped too")

    def part(self, error: Exception | None = None) -> None:
        """Tell the others how this rank ends."""
        own = f"rank {self._number} of {self._count} ended ({error})"
        for line in self._lines.values():
            if error is None:
                line.tell(read_nothing=self.nobody_read)
            else:
                line.tell(lost=self._lost or own)


@contextmanager
def met(spec: TaskSpec, output: Path, timeout_s: float = TIMEOUT_S) -> Iterator[Party]:
    """Meet the other ranks, and part from them at the end; the first one's `output` counts."""
    with ExitStack() as stack:
        if spec.rank == 0:
            party = _received(spec, output, timeout_s, stack)
        else:
            party = _joined(spec, timeout_s, stack)
        try:
            yield party
        except Exception as error:
            party.part(error)
            raise
        party.part()


def _received(spec: TaskSpec, output: Path, timeout_s: float, stack: ExitStack) -> Party:
    """Tell where the first rank is, and wait for the others there."""
    here = this_network()
    nodes, networks = {0: node_name()}, {here}
    lines: dict[int, Line] = {}
    if spec.ranks > 1:
        assert spec.meeting is not None
        secret = secrets.token_hex()
        listener = stack.enter_context(socket.create_server(("", 0)))
        place = {"host": host_name(), "network": here, "port": listener.getsockname()[1]}
        _write(spec.meeting, json.dumps({**place, "secret": secret}) + "\n")
        until = time.monotonic() + timeout_s
        listener.settimeout(1.0)
        while len(lines) < spec.ranks - 1:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                _refuse_to_wait(spec, until, missing=spec.ranks - 1 - len(lines))
                continue
            line = Line(connection)
            stack.callback(line.close)
            connection.settimeout(ANSWER_S)
            told = line.hear()
            connection.settimeout(None)
            # Anybody on the network may connect.
            if told is not None and _is_same(told.get("secret"), secret):
                nodes[told["rank"]] = told["node"]
                networks.add(told["network"])
                lines[told["rank"]] = line
    answer: Told = {
        "output": str(output),
        "address": LOOPBACK if len(networks) == 1 else host_name(),
        "port": _free_port(),
        "nodes": [nodes[number] for number in range(spec.ranks)],
    }
    for line in lines.values():
        line.tell(**answer)
    return Party(0, answer["nodes"], lines, answer)


def _is_same(told: object, secret: str) -> bool:
    # As text it would have to be ASCII. JSON may hold surrogates, which UTF-8 has not.
    return isinstance(told, str) and secrets.compare_digest(
        told.encode(errors="surrogatepass"), secret.encode()
    )


def _joined(spec: TaskSpec, timeout_s: float, stack: ExitStack) -> Party:
    """Find the first rank, and wait for its answer."""
    assert spec.meeting is not None
    until = time.monotonic() + timeout_s
    # Before its newline is there, the file is not written to its end.
    while not (text := _read(spec.meeting)).endswith("\n"):
        _refuse_to_wait(spec, until, missing=1)
        time.sleep(LOOK_S)  # Storage of several nodes tells nobody of a change.
    place = json.loads(text)
    here = this_network()
    host = LOOPBACK if place["network"] == here else place["host"]
    try:
        connection = socket.create_connection((host, place["port"]), timeout=timeout_s)
    except OSError as error:
        raise StageError(
            f"rank {spec.rank} on {node_name()} cannot connect with rank 0 on {host} "
            f"({error.strerror or error}): check for a firewall between their nodes, and whether "
            "that name leads to it"
        ) from error
    connection.settimeout(None)
    line = Line(connection)
    stack.callback(line.close)
    line.tell(secret=place["secret"], rank=spec.rank, node=node_name(), network=here)
    answer = line.hear()
    if answer is None or "nodes" not in answer:
        raise LostRank(f"rank 0 of {spec.ranks} ended, so rank {spec.rank} stopped too")
    return Party(spec.rank, answer["nodes"], {0: line}, answer)


def _refuse_to_wait(spec: TaskSpec, until: float, missing: int) -> None:
    assert spec.meeting is not None
    if (end := first_end(spec.meeting, spec.rank, spec.ranks)) is not None:
        number, sentence = end
        raise LostRank(
            f"rank {number} of {spec.ranks} ended, so rank {spec.rank} stopped too: {sentence}"
        )
    if time.monotonic() > until:
        raise StageError(
            f"{missing} of {spec.ranks} ranks did not come to {spec.meeting}: start all at the "
            "same time, with one --meeting on storage that all of them see"
        )


def _write(path: Path, text: str) -> None:
    # Only its owner may read the secret.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def _read(path: Path) -> str:
    # Opened so, storage of several nodes cannot answer by its memory that there is none yet.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor) as file:
        return file.read()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("", 0))
        port: int = free.getsockname()[1]
        return port
