"""Where the application speaks: answers on stdout, talk on stderr."""

from __future__ import annotations

from rich.console import Console, RenderableType

PIPED_WIDTH = 120
"""Width of a table that no terminal bounds."""


def answer(what: RenderableType) -> None:
    """Print the answer to a command."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPED_WIDTH)
    console.print(what)


def talk(sentence: str) -> None:
    """Say something beside the answer."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(sentence, markup=False)
