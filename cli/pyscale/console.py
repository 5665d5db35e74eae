"""Where the application speaks: answers on stdout, talk on stderr."""

from __future__ import annotations

import os

from rich.console import Console, RenderableType

PIPED_WIDTH = 120
"""Width of a table that neither a terminal nor COLUMNS bounds."""


def answer(what: RenderableType) -> None:
    """Print the answer to a command."""
    console = Console()
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console = Console(width=PIPED_WIDTH)
    console.print(what)


def talk(sentence: str) -> None:
    """Say something beside the answer."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(sentence, markup=False)
