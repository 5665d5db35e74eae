"""What the main path asks of a place where tasks run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Job(Protocol):
    """One submitted task."""

    @property
    def id(self) -> str:
        """The place's own name for the job."""

    def is_alive(self) -> bool:
        """Whether the job may still leave a record."""


class Executor(Protocol):
    """Starts tasks; it neither decides what to run nor judges how it ended."""

    def submit(self, folders: Sequence[Path]) -> list[Job]:
        """Start the tasks whose `order.json` lies in these folders, all at once."""

    def end_leftovers(self) -> int:
        """End what an earlier, dead pyscale left running of this run; return how many."""
