"""Runs several commands at once, as ranks that find each other and wait for each other."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from socket import socket

from pyscale_stages.command.process import Heard, end_group, follow, started, why_failed
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


def run_ranks(
    lines: Sequence[tuple[Sequence[str], Mapping[str, str]]],
    folder: Path,
    at_most_s: float | None,
) -> list[Heard]:
    """Run several commands at once, each with its words and variables, to the end of all.

    As they wait for each other, the first that fails ends the others.

    Raises
    ------
    BadInput, MissingPart
        If one cannot be started.
    StageError
        If one fails, or takes too long; the sentence names it.
    """
    running: list[tuple[subprocess.Popen[bytes], Heard]] = []
    failed: list[tuple[int, Heard]] = []
    with ThreadPoolExecutor(len(lines)) as pool:
        try:
            running += (started(words, folder, variables) for words, variables in lines)
            followed = {
                pool.submit(follow, process, heard, at_most_s): place
                for place, (process, heard) in enumerate(running)
            }
            for future in as_completed(followed):
                heard = running[followed[future]][1]
                if heard.is_late or heard.returncode != 0:
                    failed.append((followed[future], heard))
                    _end_all(running)
        except BaseException:
            _end_all(running)
            raise
    if failed:
        place, heard = failed[0]
        raise StageError(f"rank {place} of {len(lines)}: {why_failed(heard, at_most_s)}")
    return [heard for _, heard in running]


def _end_all(running: Iterable[tuple[subprocess.Popen[bytes], Heard]]) -> None:
    for process, _ in running:
        # What has ended may have left its number to another.
        if process.returncode is None:
            end_group(process)
