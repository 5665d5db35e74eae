"""What commands on data say and ask on a terminal: sentences, bars, and consent to terms."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.prompt import Confirm

from pyscale.console import Console, vanishing_progress
from pyscale.errors import UserError

if TYPE_CHECKING:
    from pyscale.data.registry import Dataset

Advance = Callable[[int], None]
"""Adds bytes to a bar; a negative number takes back what must be done again."""


class Report(Protocol):
    """Listener of an operation."""

    def say(self, sentence: str) -> None:
        """Tell the user one thing."""

    def bar(self, what: str, total_bytes: int | None) -> AbstractContextManager[Advance]:
        """Show how far `what` is while the block runs."""


class SilentReport:
    """Says nothing."""

    def say(self, sentence: str) -> None:
        """Swallow the sentence."""

    def bar(self, what: str, total_bytes: int | None) -> AbstractContextManager[Advance]:  # noqa: ARG002
        """Show nothing."""
        return nullcontext(lambda _: None)


class TerminalReport:
    """Sentences always, bars on a terminal; both on stderr."""

    def __init__(self) -> None:
        self._progress = vanishing_progress(
            "{task.description}",
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        self._bars = 0

    def say(self, sentence: str) -> None:
        """Print above the bars."""
        self._progress.console.print(sentence, markup=False, soft_wrap=True)

    @contextmanager
    def bar(self, what: str, total_bytes: int | None) -> Iterator[Advance]:
        """Show a bar that vanishes when its block ends."""
        task = self._progress.add_task(what, total=total_bytes)
        self._count_bars(1)
        try:
            yield lambda n_bytes: self._progress.advance(task, n_bytes)
        finally:
            self._progress.remove_task(task)
            self._count_bars(-1)

    def _count_bars(self, change: int) -> None:
        """Hold the terminal only while there are bars: a question may be asked between."""
        self._bars += change
        if self._bars == 1 and change == 1:
            self._progress.start()
        elif self._bars == 0:
            self._progress.stop()


def asked(name: str, dataset: Dataset) -> None:
    """Show the terms of a dataset and ask for consent to them."""
    if not sys.stdin.isatty():
        raise UserError(
            f"the terms of {name} need your consent: read them at {dataset.licence_url}, then "
            "add --accept-terms to the same command"
        )
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(f"{name}: {dataset.terms} See {dataset.licence_url}", markup=False)
    if not Confirm.ask("Do you accept these terms?", console=console, default=False):
        raise UserError(f"{name} was not fetched: its terms were not accepted")
