"""Interface of an executor: what a run asks of the place where tasks run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyscale.planning.plan import Trial
from pyscale.store.records import TaskOrder

WINDOWS = "windows"
"""Name of the batch of a trial's windows; each task that follows them is a batch of its own."""


@dataclass(frozen=True)
class Batch:
    """Tasks of one trial that are started together: its windows, or one that follows them."""

    trial: Trial
    name: str
    """`windows`, `merge`, `check` or `beside`."""
    orders: Mapping[Path, TaskOrder]
    """Task folder and draft of its order, in the order in which they should start. The executor
    adds what depends on the place and writes it."""
    at_once: int
    submitted: Callable[[Mapping[str, str]], None]
    """To be told of the jobs, by task, as soon as they are submitted."""
    threads: int = 1


class Executor(ABC):
    """Starts tasks; it neither decides what to run nor judges how it ended."""

    on_this_node = False
    """Whether tasks run on the machine of pyscale itself, sharing its page cache."""

    @abstractmethod
    def run(self, batch: Batch) -> None:
        """Start the tasks of a batch and return when all have an exit record."""

    @abstractmethod
    def end_all(self) -> int:
        """End everything that runs for this run; return how many processes or jobs."""
