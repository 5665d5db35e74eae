"""Ranks as real processes that meet over gloo."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from startedranks import PATIENCE_S
from startedranks import start as started

MEMBER = Path(__file__).with_name("member.py")
NEVER_S = 600.0
"""A timeout that no test lives to see: what ends before was not ended by it."""


@dataclass(frozen=True)
class Outcome:
    """How the process of a rank ended."""

    code: int
    given: Any
    error: str
    err: str


class Ranks:
    """Starts ranks, and ends those that are left."""

    def __init__(self, meeting, ends):
        self.meeting = meeting
        self._ends = ends

    def start(self, deed, number, count, *, timeout_s=NEVER_S, variables=None, inside=None):
        """Start one rank, inside another program where one is named."""
        words = [MEMBER, deed, number, count, self.meeting, timeout_s]
        return started(self._ends, words, variables, inside)

    def until_first_waits(self):
        """Wait until the first rank has told where it is."""
        until = time.monotonic() + PATIENCE_S
        while not (self.meeting.exists() and self.meeting.read_text().endswith("\n")):
            assert time.monotonic() < until
            time.sleep(0.01)

    def end(self, process):
        """Wait for a rank."""
        out, err = process.communicate(timeout=PATIENCE_S)
        said = json.loads(out) if out else {}
        return Outcome(process.returncode, said.get("given"), said.get("error", ""), err)

    def run(self, deed, count, **options):
        """Start all ranks at once and wait for them."""
        processes = [self.start(deed, number, count, **options) for number in range(count)]
        return [self.end(process) for process in processes]


@pytest.fixture
def ranks(tmp_path):
    with ExitStack() as ends:
        yield Ranks(tmp_path / "meeting", ends)


@pytest.fixture(scope="session")
def other_host(missing):
    """Words before a command that runs it under another host name, or in another network too."""

    def words(name, network):
        namespaces = ["unshare", "--user", "--map-root-user", "--uts", *["--net"] * network]
        return [*namespaces, "sh", "-c", f'hostname {name} && exec "$@"', "sh"]

    try:
        subprocess.run([*words("elsewhere", True), "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        missing("a process under another host name", f"allow user namespaces ({error})")
    return words
