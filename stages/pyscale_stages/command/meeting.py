"""Runs several commands at once, as ranks that find each other and wait for each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from socket import socket

from pyscale_stages.command.heard import Heard
from pyscale_stages.command.process import Call, Running
from pyscale_stages.commandline import THREAD_VARIABLES
from pyscale_stages.errors import StageError

MEETING_ADDRESS = "127.0.0.1"
"""Where ranks meet: they are processes of one machine."""


def variables_of_ranks(count: int) -> list[dict[str, str]]:
    """Variables by which torch and others find the ranks that they meet, of each one thread."""
    with socket() as free:
        free.bind((MEETING_ADDRESS, 0))
        port = free.getsockname()[1]
    of_all = {
        **dict.fromkeys(THREAD_VARIABLES, "1"),
        **dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(count)),
        "MASTER_ADDR": MEETING_ADDRESS,
        "MASTER_PORT": str(port),
    }
    return [of_all | {"RANK": str(place), "LOCAL_RANK": str(place)} for place in range(count)]


def run_ranks(calls: Sequence[Call]) -> list[Heard]:
    """Run several commands at once to the end of all.

    As they wait for each other, the first that fails ends the others.

    Raises
    ------
    BadInput, MissingPart
        If one cannot be started.
    StageError
        If one fails, or takes too long; the sentence names it.
    """
    running: list[Running] = []
    failed: list[str] = []
    with ThreadPoolExecutor(len(calls)) as pool:
        try:
            running += map(Running, calls)
            followed = {pool.submit(one.follow): place for place, one in enumerate(running)}
            for future in as_completed(followed):
                future.result()
                why = running[followed[future]].why_failed()
                if why is not None:
                    failed.append(f"rank {followed[future]} of {len(calls)}: {why}")
                    _end_all(running)
        except BaseException:
            _end_all(running)
            raise
    if failed:
        raise StageError(failed[0])
    return [one.heard for one in running]


def _end_all(running: Iterable[Running]) -> None:
    for one in running:
        one.end()
