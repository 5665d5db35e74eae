"""How ranks find each other, on any node, and hear how each of them ends.

The first rank writes into a file where it listens; the others connect with it, so that it hears all
and tells each what all must know.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.measure.nodename import host_name, node_name
from pyscale_stages.ranks.network import INTERFACE_VARIABLE, this_network
from pyscale_stages.ranks.rank_failure import LostRank, first_end, said_of

LOOPBACK = "127.0.0.1"
TIMEOUT_S = 600.0
"""How long a rank waits for others to come."""
LOOK_S = 0.1
"""Between two looks for the first rank's address."""
ANSWER_S = 10.0
"""How long one that connects may take to say who it is, and who has lost a rank to say which."""
# Bytes of a line, so that a stranger cannot fill the memory.
LONGEST = 1 << 16
ANOTHER = "give the ranks of each attempt another --meeting"

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
    """Ranks that have met, as one of them sees them.

    `lines`: with the other ranks; of all but the first, with that alone. `answer`: what the first
    rank told all, with its own words to them.
    """

    def __init__(self, number: int, lines: Mapping[int, Line], answer: Told) -> None:
        self.number = number
        self.answer = answer
        self.nodes: list[str] = answer["nodes"]
        self.count = len(self.nodes)
        self.last_words: Told = {}
        """What this rank tells the others when it ends well."""
        self.heard: list[Told] = []
        """What other ranks told when they ended well."""
        self.lost: str | None = None
        """Which rank ended badly, and how."""
        self._lines = lines
        self._silent = set(lines)

    @property
    def variables(self) -> dict[str, str]:
        """Variables by which torch and others find each other."""
        here = [rank for rank, node in enumerate(self.nodes) if node == self.nodes[self.number]]
        return {
            "RANK": str(self.number),
            "WORLD_SIZE": str(self.count),
            "LOCAL_RANK": str(here.index(self.number)),
            "LOCAL_WORLD_SIZE": str(len(here)),
            "MASTER_ADDR": self.answer["address"],
            "MASTER_PORT": str(self.answer["port"]),
        }

    def await_all(self) -> None:
        """Wait until all ranks are here, and end with one that has ended."""
        if self.number:
            self._lines[0].tell()
        for number, line in self._lines.items():
            told = line.hear()
            if told is None or "lost" in told:
                self.lost = told["lost"] if told else self._killed(number)
                self.refuse_lost()
        if self.number == 0:
            for line in self._lines.values():
                line.tell()

    @contextmanager
    def listening(self, on_loss: Callable[[], object] | None = None) -> Iterator[None]:
        """Hear in the block how other ranks end; without `on_loss` others are told of a loss."""
        ends, ended = socket.socketpair()
        self._listener = threading.Thread(
            target=self.watch, args=(ended, on_loss or self.part), daemon=True
        )
        with ends, ended:
            self._listener.start()
            try:
                yield
            finally:
                # The other end becomes readable, which ends the watch.
                ends.close()
                self._listener.join()

    def await_loss(self, at_most_s: float) -> None:
        """Wait until a listening rank has heard which other one ended, and end with it."""
        self._listener.join(at_most_s)
        self.refuse_lost()

    def watch(
        self, ended: socket.socket | None = None, on_loss: Callable[[], object] = lambda: None
    ) -> None:
        """Hear other ranks until all have ended well, one has not, or `ended` can be read."""
        with DefaultSelector() as selector:
            for number in self._silent:
                selector.register(self._lines[number], EVENT_READ, number)
            if ended is not None:
                selector.register(ended, EVENT_READ)
            while self._silent and self.lost is None:
                for key, _ in selector.select():
                    if key.data is None:
                        return
                    told = self._lines[key.data].hear()
                    if told is not None and "lost" not in told:
                        self.heard.append(told)
                        self._silent.discard(key.data)
                        selector.unregister(key.fileobj)
                        continue
                    self.lost = told["lost"] if told else self._killed(key.data)
                    on_loss()
                    return

    def _killed(self, number: int) -> str:
        """Name a rank that could not say why it ended, as its own record does."""
        return f"rank {number} of {self.count} on {self.nodes[number]} was ended"

    def refuse_lost(self) -> None:
        """End this rank where another one has ended badly."""
        if self.lost is not None:
            raise LostRank(f"{self.lost}, so rank {self.number} stopped too")

    def part(self, error: BaseException | None = None) -> None:
        """Tell the others how this rank ends."""
        for line in self._lines.values():
            if self.lost is not None:
                line.tell(lost=self.lost)
            elif error is not None:
                here = f"rank {self.number} of {self.count} on {self.nodes[self.number]}"
                line.tell(lost=f"{here} ended ({said_of(error)})")
            else:
                line.tell(**self.last_words)


@contextmanager
def met(
    path: Path | None, number: int, count: int, timeout_s: float = TIMEOUT_S, **words: Any
) -> Iterator[Party]:
    """Meet the other ranks, and part from them at the end; all hear the first one's `words`.

    Raises
    ------
    BadInput
        If ranks contradict each other, or the file is of no use.
    StageError
        If a rank does not come, or ends.
    """
    with ExitStack() as stack:
        if count == 1:
            party = Party(0, {}, _answer({0: node_name()}, {this_network()}, words))
        elif path is None:
            raise BadInput(f"{count} ranks need a --meeting to find each other: name its path")
        elif number == 0:
            party = _received(path, count, timeout_s, words, stack)
        else:
            party = _joined(path, number, count, timeout_s, stack)
        try:
            yield party
        except BaseException as error:
            party.part(error)
            raise
        party.part()
        if path is not None and number == 0:
            # So that another attempt may meet by it.
            path.unlink(missing_ok=True)


def _answer(nodes: Mapping[int, str], networks: set[str], words: Told) -> Told:
    return {
        "address": LOOPBACK if len(networks) == 1 else host_name(),
        "port": _free_port(),
        "networks": sorted(networks),
        "nodes": [nodes[number] for number in range(len(nodes))],
        **words,
    }


def _received(path: Path, count: int, timeout_s: float, words: Told, stack: ExitStack) -> Party:
    """Tell where the first rank is, and wait for the others there."""
    here = this_network()
    nodes, networks = {0: node_name()}, {here}
    lines: dict[int, Line] = {}
    secret = secrets.token_hex()
    listener = socket.create_server(("", 0))
    place = {"host": host_name(), "network": here, "port": listener.getsockname()[1]}
    until = time.monotonic() + timeout_s
    listener.settimeout(1.0)
    try:
        _write(path, json.dumps({**place, "secret": secret}) + "\n")
        while len(lines) < count - 1:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                missing = [rank for rank in range(1, count) if rank not in lines]
                _refuse_to_wait(path, 0, count, until, missing)
                continue
            line = Line(connection)
            stack.callback(line.close)
            connection.settimeout(ANSWER_S)
            told = line.hear()
            connection.settimeout(None)
            # Anybody on the network may connect.
            if told is not None and told.get("secret") == secret:
                rank = told["rank"]
                again = rank in lines
                lines[-1 if again else rank] = line
                _refuse_discord(path, told, count, again=again)
                nodes[rank] = told["node"]
                networks.add(told["network"])
    except BaseException as error:
        for line in lines.values():
            line.tell(lost=f"rank 0 of {count} ended ({said_of(error)})")
        raise
    finally:
        # Who comes later must not wait for an answer.
        listener.close()
    answer = _answer(nodes, networks, words)
    for line in lines.values():
        line.tell(**answer)
    return Party(0, lines, answer)


def _refuse_discord(path: Path, told: Told, count: int, *, again: bool) -> None:
    rank, node = told["rank"], told["node"]
    if told["ranks"] != count:
        raise BadInput(
            f"rank {rank} on {node} expects {told['ranks']} ranks, but rank 0 expects {count}: "
            "give all of them the same --ranks"
        )
    if again:
        raise BadInput(
            f"two processes came to {path} as rank {rank}: give each another --rank, or use "
            "another --meeting if an earlier attempt used this one"
        )


def _joined(path: Path, number: int, count: int, timeout_s: float, stack: ExitStack) -> Party:
    """Find the first rank, and wait for its answer."""
    until = time.monotonic() + timeout_s
    # Before its newline is there, the file is not written to its end.
    while not (text := _read(path)).endswith("\n"):
        _refuse_to_wait(path, number, count, until, [0])
        time.sleep(LOOK_S)  # Storage of several nodes tells nobody of a change.
    place = json.loads(text)
    here = this_network()
    host = LOOPBACK if place["network"] == here else place["host"]
    try:
        connection = socket.create_connection((host, place["port"]), timeout=timeout_s)
    except OSError as error:
        raise StageError(
            f"rank {number} on {node_name()} cannot connect with rank 0 on {host} "
            f"({error.strerror or error}): {ANOTHER}; else check for a firewall between their "
            "nodes, whether that name leads to it, or name the network interface that joins the "
            f"nodes by {INTERFACE_VARIABLE}"
        ) from error
    connection.settimeout(None)
    line = Line(connection)
    stack.callback(line.close)
    line.tell(secret=place["secret"], rank=number, ranks=count, node=node_name(), network=here)
    answer = line.hear()
    if answer is None or "nodes" not in answer:
        lost = answer["lost"] if answer else f"rank 0 of {count} ended"
        raise LostRank(f"{lost}, so rank {number} stopped too")
    return Party(number, {0: line}, answer)


def _refuse_to_wait(path: Path, number: int, count: int, until: float, missing: list[int]) -> None:
    if (end := first_end(path)) is not None:
        raise LostRank(f"{end}, so rank {number} stopped too")
    if time.monotonic() > until:
        named = ", ".join(map(str, missing))
        raise StageError(
            f"{len(missing)} of {count} ranks did not come to {path} (missing: {named}): start all "
            "at the same time, with one --meeting on storage that all of them see"
        )


def _opened(path: Path) -> int:
    # So opened, storage of several nodes cannot answer by its memory that there is none yet. Only
    # its owner may read the secret.
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise BadInput(
            f"--meeting {path} is unusable ({error.strerror}): name a file that does not exist, in "
            "a folder that all ranks may write"
        ) from error


def _write(path: Path, text: str) -> None:
    with os.fdopen(_opened(path), "r+") as file:
        if os.fstat(file.fileno()).st_size:
            raise BadInput(f"--meeting {path} was used before, or is another file: {ANOTHER}")
        file.write(text)


def _read(path: Path) -> str:
    with os.fdopen(_opened(path), "rb") as file:
        text = file.read(LONGEST)
    if text[:1] not in {b"", b"{"}:
        raise BadInput(f"--meeting {path} is another file: name one that does not exist")
    return text.decode()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("", 0))
        port: int = free.getsockname()[1]
        return port
