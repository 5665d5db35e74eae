"""Work done once on each node before a trial reads there: the inputs' page cache, a look around.

Every launcher of the trial comes here: the first does the work, the others wait; one that is killed
leaves it to the next. The launcher imports this: nothing heavy.
"""

from __future__ import annotations

import errno
import hashlib
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyscale_stages.atomic import write_atomically
from pyscale_stages.measure.nodename import node_name

_BACKLOG = 4096


def do_once_on_this_node(work: Mapping[str, Any]) -> None:
    """Do an order's `node_work`, or wait until another launcher of the trial has done it here."""
    folder = Path(work["folder"])
    record = folder / f"node.{node_name()}.json"
    if record.exists():
        return
    with _alone_on_this_node(str(record)):
        # Nor is there anything to prepare for a trial that was set aside meanwhile.
        if folder.exists() and not record.exists():
            write_atomically(record, _done(work))


def _done(work: Mapping[str, Any]) -> str:
    from pyscale.executors.surroundings import bring_inputs_to, look_around
    from pyscale.store.records import NodeRecord, Surroundings
    from pyscale_stages.reading import Reading

    # Other launchers of the trial are just starting, and their command lines name the run.
    seen = look_around(besides=Path(work["folder"]).parents[1])
    chosen = work.get("reading")
    reading = None if chosen is None else Reading.model_validate(chosen)
    cache = bring_inputs_to(work["cache"], [Path(path) for path in work["inputs"]], reading)
    found = NodeRecord(cache=cache, surroundings=Surroundings(start=seen))
    return found.model_dump_json(indent=1) + "\n"


@contextmanager
def _alone_on_this_node(what: str) -> Iterator[None]:
    """Hold a name that only one process of the node can hold; wait for it where another does."""
    # A socket's name in no folder: jobs of one node may each have a /tmp of their own, and locks
    # of shared filesystems wake waiters late. The kernel frees it when its holder ends.
    name = b"\0pyscale-" + hashlib.sha256(what.encode()).hexdigest().encode()
    while True:
        with socket.socket(socket.AF_UNIX) as mine:
            try:
                mine.bind(name)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                mine.listen(_BACKLOG)
                yield
                return
        _wait_until_free(name)


def _wait_until_free(name: bytes) -> None:
    # One that holds the name and does not listen yet refuses: the next try comes at once.
    with socket.socket(socket.AF_UNIX) as waiting, suppress(ConnectionError):
        waiting.connect(name)
        # Nobody ever answers: the connection breaks when the holder lets go.
        waiting.recv(1)
