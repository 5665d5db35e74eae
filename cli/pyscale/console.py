"""Output of the application: answers on stdout, talk on stderr."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

PIPED_WIDTH = 120
"""Width of a table that neither a terminal nor COLUMNS bounds."""
_CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}"
    for code in (*range(32), *range(127, 160))
    if chr(code) not in "\n\t"
}


def harmless(text: str) -> str:
    """Replace control characters: in a name of a user's they would steer the terminal."""
    return text.translate(_CONTROLS)


class Console(rich.console.Console):
    """A console whose texts have no control characters but those of its own styles."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Turn what is printed into segments, each with harmless text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text))


def answer(what: RenderableType) -> None:
    """Print the answer to a command."""
    console = Console()
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console = Console(width=PIPED_WIDTH)
    # Lines to paste may be longer than the terminal is wide.
    console.print(what, crop=False)


def talk(sentence: str) -> None:
    """Say something beside the answer."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(sentence, markup=False)


def vanishing_progress(*columns: str | ProgressColumn) -> Progress:
    """Bars on stderr, which vanish; none where it is no terminal."""
    from rich.progress import Progress

    console = Console(stderr=True, highlight=False)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


Advance = Callable[[int], None]
"""Adds bytes to a bar; a negative number takes back what must be done again."""


@contextmanager
def bar(what: str, total_bytes: int | None) -> Iterator[Advance]:
    """Show how far `what` is while the block runs."""
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with vanishing_progress("{task.description}", *columns) as progress:
        task = progress.add_task(what, total=total_bytes)
        yield lambda n_bytes: progress.advance(task, n_bytes)
